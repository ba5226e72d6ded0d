//! The argument tree as a user meets it: defaults, refusals, and help whose examples work.

mod help_language;
mod refused;

use clap::CommandFactory;

use weir_pacing::Burst;

use super::*;
use crate::units::{
    ByteCount, FormatName, FrameRate, LengthSpan, PortRange, Rate, RateOrMax, ReorderDepth, TimeSpan,
};

/// Splits like a shell, as far as the examples need: quotes and spaces, up to a redirection.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), None::<String>, false);
    for c in line.chars().chain([' ']) {
        match c {
            '\'' => {
                // Two quotes with nothing between them are a word too.
                word.get_or_insert_default();
                quoted = !quoted;
            }
            ' ' if !quoted => words.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    assert!(!quoted, "a quote is left open in: {line}");
    let end = words
        .iter()
        .position(|word| word == ">" || word == "|")
        .unwrap_or(words.len());
    words.truncate(end);
    words
}

fn parse(line: &str) -> Result<Cli, clap::Error> {
    let cli = Cli::try_parse_from(words(line))?;
    cli.check()?;
    Ok(cli)
}

fn parsed(line: &str) -> Cli {
    parse(line).unwrap_or_else(|error| panic!("{line}: {error}"))
}

fn refusal(line: &str) -> clap::Error {
    parse(line).expect_err(line)
}

macro_rules! command {
    ($line:expr, $kind:path) => {
        match parsed($line).command {
            $kind(args) => args,
            other => panic!("{} is {other:?}", $line),
        }
    };
}

#[test]
fn the_long_version_names_commit_target_and_profile() {
    let version = env!("CARGO_PKG_VERSION");
    assert_eq!(Cli::command().render_version(), format!("weir {version}\n"));
    let long = Cli::command().render_long_version();
    let build = long
        .trim_end()
        .strip_prefix(&format!("weir {version} ("))
        .and_then(|rest| rest.strip_suffix(')'))
        .unwrap_or_else(|| panic!("{long}"));
    let parts: Vec<&str> = build.split(", ").collect();
    let [commit, target, profile] = parts[..] else {
        panic!("{long}");
    };
    let hexadecimal = commit
        .trim_end_matches("-dirty")
        .chars()
        .all(|c| c.is_ascii_hexdigit());
    assert!(hexadecimal || commit == "unknown commit", "{long}");
    assert!(
        target.starts_with(std::env::consts::ARCH) && target.contains("-linux-"),
        "{long}"
    );
    assert!(!profile.is_empty() && profile != "unknown profile", "{long}");
}

#[test]
fn the_tree_is_sound() {
    Cli::command().debug_assert();
}

/// Every command in the tree, the hidden ones too.
fn all_commands() -> Vec<clap::Command> {
    fn collect(command: &clap::Command, all: &mut Vec<clap::Command>) {
        all.push(command.clone());
        for subcommand in command
            .get_subcommands()
            .filter(|subcommand| subcommand.get_name() != "help")
        {
            collect(subcommand, all);
        }
    }
    let mut root = Cli::command();
    root.build();
    let mut all = Vec::new();
    collect(&root, &mut all);
    all
}

#[test]
fn every_command_has_a_paragraph_and_an_example_that_parses() {
    for command in all_commands() {
        let name = command
            .get_display_name()
            .unwrap_or(command.get_name())
            .to_owned();
        assert!(command.get_long_about().is_some(), "{name} has no paragraph");
        let after = command
            .get_after_help()
            .map(ToString::to_string)
            .unwrap_or_default();
        let examples: Vec<&str> = after
            .lines()
            .map(|line| line.trim_start_matches("    ").trim_start_matches("$ "))
            .filter(|line| line.starts_with("weir "))
            .collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for example in examples {
            parsed(example);
        }
        let longest = after.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= 120, "{name}: an example of {longest} columns");
    }
}

#[test]
fn every_option_is_explained() {
    for command in all_commands() {
        for arg in command.get_arguments() {
            assert!(
                arg.get_help().is_some(),
                "{} {}",
                command.get_name(),
                arg.get_id()
            );
        }
    }
}

#[test]
fn defaults() {
    let agent = command!("weir agent", Command::Agent);
    assert_eq!(agent.port, 4747);
    assert_eq!(
        agent.udp_ports,
        PortRange {
            first: 4750,
            last: 4849
        }
    );
    assert_eq!(agent.max_rate, Rate(10_000_000_000));
    assert_eq!(agent.max_duration, TimeSpan(86_400_000_000_000));
    assert_eq!(
        (agent.max_length, agent.max_sessions, agent.max_flows),
        (65_507, 8, 64)
    );
    assert!(agent.listen.is_empty() && !agent.open);

    let rtt = command!("weir rtt host", Command::Rtt);
    assert_eq!((rtt.window.from, rtt.window.to), (10, 10));
    assert_eq!(rtt.length, LengthSpan { from: 100, to: 100 });
    assert_eq!(rtt.over(), TimeSpan(10_000_000_000));
    assert_eq!((rtt.ttl, rtt.timeout), (64, TimeSpan(2_000_000_000)));

    let flows = command!("weir flows host", Command::Flows);
    assert_eq!(flows.traffic(), Traffic::Format(format("1080p59.94-422-10")));
    assert!(flows.max_bytes.is_none() && flows.cost.cloud.is_none());
    assert_eq!(
        (flows.flows, flows.length, flows.spread),
        (8, None, Spread::Permuted)
    );
    assert_eq!(
        (flows.way(), flows.reorder_depth),
        (Way::Forward, ReorderDepth::default())
    );
    assert_eq!(flows.receive_buffer.0, 4 << 20);

    let survey = command!("weir survey host", Command::Survey);
    assert_eq!(
        (survey.step, survey.max_bytes, survey.max_flows),
        (TimeSpan(3_000_000_000), None, 16)
    );
    assert_eq!(survey.traffic(), Traffic::Format(format(DEFAULT_FORMAT)));
}

fn format(name: &str) -> FormatName {
    name.parse().expect("a name by the rule")
}

#[test]
fn traffic() {
    let ntsc = FrameRate::new(60_000, 1001).expect("a rate");
    let fifty = FrameRate::new(50, 1).expect("a rate");
    let of = |name: &str| Traffic::Format(format(name));
    let table = [
        ("--format 720p59.94-444-16", of("720p59.94-444-16")),
        ("--format 1280x720p25-422-8", of("720p25-422-8")),
        ("--rate max", Traffic::Rate(RateOrMax::Max, ntsc)),
        (
            "--rate 1Gbit/s --frame-rate 50",
            Traffic::Rate(RateOrMax::Rate(Rate(1_000_000_000)), fifty),
        ),
        ("--bytes-per-frame 5184000", Traffic::Frames(5_184_000, ntsc)),
        (
            "--bytes-per-frame 5184000 --frame-rate 50",
            Traffic::Frames(5_184_000, fifty),
        ),
    ];
    for (options, traffic) in table {
        let flows = command!(&format!("weir flows host {options}"), Command::Flows);
        assert_eq!(flows.traffic(), traffic, "{options}");
    }
}

#[test]
fn the_help_has_the_rule_of_formats_and_one_example() {
    for name in ["flows", "survey"] {
        let commands = all_commands();
        let command = commands.iter().find(|command| command.get_name() == name);
        let mut command = command.expect("a command").clone();
        let short = command.render_help().to_string();
        assert!(short.contains("such as 1080p25-422-10"), "{short}");
        let long = command.render_long_help().to_string();
        let flat = long.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in [
            FormatName::RULE,
            "23.98, 24, 25, 29.97, 30, 50, 59.94, 60, 100, 119.88 or 120",
        ] {
            assert!(flat.contains(word), "no {word} in {flat}");
        }
        assert!(!flat.contains("possible values: 720p"), "{flat}");
    }
}

#[test]
fn the_byte_limit_means_the_same_in_flows_and_survey() {
    let help = |name: &str| {
        let commands = all_commands();
        let command = commands.iter().find(|command| command.get_name() == name);
        let mut arguments = command.expect("a command").get_arguments();
        let limit = arguments.find(|arg| arg.get_id() == "max_bytes");
        limit.and_then(|arg| arg.get_help()).map(ToString::to_string)
    };
    assert!(help("flows").is_some());
    assert_eq!(help("flows"), help("survey"));
}

#[test]
fn global_options_stand_before_or_after_the_subcommand() {
    for line in [
        "weir --db x.db --json -vv rtt host",
        "weir rtt host --db x.db --json -vv",
    ] {
        let global = parsed(line).global;
        assert_eq!(
            (global.db, global.json, global.verbose),
            ("x.db".into(), true, 2),
            "{line}"
        );
    }
    let global = parsed("weir runs list --db x.db -q").global;
    assert_eq!((global.db, global.quiet), ("x.db".into(), true));
}

#[test]
fn several_limits() {
    let rtt = command!(
        "weir rtt host --fail-if 'loss > 1%' --fail-if 'p90>2ms' -6",
        Command::Rtt
    );
    let limits: Vec<String> = rtt.measure.fail_if.iter().map(ToString::to_string).collect();
    assert_eq!(limits, ["loss > 1%", "p90 > 2ms"]);
    assert!(rtt.measure.ipv6 && !rtt.measure.ipv4);
}

#[test]
fn tags_are_added_and_taken_away() {
    let changes = |line: &str| match command!(line, Command::Runs) {
        RunsCommand::Tag { add, remove, .. } => (add, remove),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        changes("weir runs tag 3 a --remove draft b --remove c --db x.db"),
        (
            vec!["a".to_owned(), "b".to_owned()],
            vec!["draft".to_owned(), "c".to_owned()]
        )
    );
    assert_eq!(changes("weir runs tag last --json"), (vec![], vec![]));
    let global = parsed("weir runs tag 3 a --remove draft --json --db x.db").global;
    assert!(global.json && global.db.as_os_str() == "x.db");
}

#[test]
fn names_of_runs() {
    match command!("weir runs delete 3 last 7", Command::Runs) {
        RunsCommand::Delete { runs } => {
            assert_eq!(runs, [RunName::Number(3), RunName::Last, RunName::Number(7)]);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_demo_of_the_origin_lasts_as_told() {
    let origin = command!("weir origin demo", Command::Origin);
    let Some(super::OriginCommand::Demo(demo)) = origin.command else {
        panic!("no demo: {:?}", origin.command);
    };
    assert_eq!((demo.folder, demo.duration.0), (None, 30_000_000_000));
    assert_eq!(demo.listen.to_string(), "127.0.0.1:8080");
    assert!(origin.place.is_none() && !origin.page);
}

#[test]
fn the_origin_paces_when_told_within_bounds() {
    let origin = command!("weir origin media", Command::Origin);
    assert!(!origin.pacing.pace && origin.pacing.pace_burst == Burst::Auto);
    let line = "weir origin media --pace --pace-factor 2.5 --pace-floor 500kbit/s --pace-ceiling 50Mbit/s --pace-low-buffer 6s --pace-time 2min --pace-burst 4";
    let pacing = command!(line, Command::Origin).pacing;
    assert!(pacing.pace);
    assert_eq!((pacing.pace_factor, pacing.pace_burst), (2.5, Burst::Packets(4)));
    assert_eq!(pacing.pace_floor.0, 500_000);
    assert_eq!(pacing.pace_ceiling.map(|rate| rate.0), Some(50_000_000));
    assert_eq!(
        (pacing.pace_low_buffer, pacing.pace_time),
        (TimeSpan(6_000_000_000), TimeSpan(120_000_000_000))
    );
}

#[test]
fn the_origin_reads_places_and_keeps_what_e_keeps_unless_told() {
    let origin = command!("weir origin media", Command::Origin);
    assert_eq!(
        origin.place.map(|place| place.to_string()).as_deref(),
        Some("media")
    );
    assert_eq!(origin.listen.to_string(), "127.0.0.1:8080");
    assert_eq!(origin.configuration.name(), "E");
    assert_eq!(
        (origin.memory_cache, origin.storage.storage_tries),
        (ByteCount(512 << 20), 4)
    );
    assert!(!origin.files && !origin.storage.anonymous && origin.disk_cache.is_none());
    let line = "weir origin s3://films/2026 --mirror https://b.example/films --mirror spare --configuration b --s3-style virtual";
    let origin = command!(line, Command::Origin);
    assert_eq!(
        (origin.place.map(|place| place.to_string()), origin.mirror.len()),
        (Some("s3://films/2026".to_owned()), 2)
    );
    assert_eq!(
        (origin.configuration.name(), origin.storage.s3_style),
        ("B", BucketStyle::Virtual)
    );
}

#[test]
fn the_origin_has_commands_beside_serving() {
    let index = command!(
        "weir origin index media a b/c.ism --s3-region x --storage-ca ca.pem",
        Command::Origin
    );
    let Some(OriginCommand::Index(index)) = index.command else {
        panic!("no index: {index:?}");
    };
    assert_eq!(
        (index.place.to_string().as_str(), index.titles.len()),
        ("media", 2)
    );
    assert!(!index.beside && index.output.is_none() && index.storage.s3_region.is_some());
    assert_eq!(index.storage.storage_ca, Some("ca.pem".into()));
    let dref = command!("weir origin dref a.mp4 -o b.mp4", Command::Origin);
    assert!(matches!(dref.command, Some(OriginCommand::Dref(dref)) if dref.output.is_some()));
}

#[test]
fn the_page_is_served_on_loopback_unless_told() {
    let ui = command!("weir ui", Command::Ui);
    assert_eq!(ui.listen.to_string(), "127.0.0.1:4780");
    assert!(!ui.no_open && ui.token_file.is_none());
    let ui = command!("weir ui --listen [::]:0 --no-open --token-file t", Command::Ui);
    assert_eq!((ui.listen.to_string().as_str(), ui.no_open), ("[::]:0", true));
}
