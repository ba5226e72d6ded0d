//! Generates the tables of `docs/diagnosis.md`: hit rates and false alarm rates of the findings
//! over random networks with known properties.
//!
//!     cargo run --release -p weir-simulate --example diagnosis_table -- --networks 200 --seed 2

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use weir_diagnose::Options;
use weir_link::LossSpec;
use weir_measure::survey::Step;
use weir_simulate::judgement::{OutsideAnswer, QUESTIONS, Said, Truth, answer_to_outside, error_of_shares};
use weir_simulate::networks::{Draw, Kind, Network};
use weir_simulate::{
    BY_TRIAL, Judged, JudgingPlan, Observed, SETTINGS_TARGET, diagnose_by_trial, judge, observe,
    try_settings, try_twin,
};
use weir_stats::Counters as _;

const USAGE: &str = "\
usage: diagnosis_table [OPTION]...
  --networks N    networks of each kind (200)
  --first N       number of the first of them (0)
  --seed N        seed of all of them (1)
  --kind NAME     this kind alone, or 2 or 3 for as many faults at once; may be given several times
  --apart NAME    networks of the second generator: 0 to 3 for as many faults, or outside for a cause of loss that no
                  finding names; may be given several times
  --threads N     networks that are simulated side by side (all cores)
  --twins         makes every test once more over the twin of its network, and compares
  --settings      tries the recommended settings on each network, beside the cheapest that meet the target
  --show          one network (--kind, --first): its truth and its findings, instead of tables
  --keep FILE     with --show: keeps the database there";

struct Arguments {
    plan: JudgingPlan,
    networks: u64,
    first: u64,
    show: bool,
    keep: Option<PathBuf>,
}

fn arguments() -> Result<Arguments, String> {
    let mut plan = JudgingPlan {
        draws: Vec::new(),
        numbers: 0..0,
        seed: 1,
        threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
        twins: false,
        settings: false,
    };
    let (mut networks, mut first, mut show, mut keep) = (200, 0, false, None);
    let mut arguments = std::env::args().skip(1);
    while let Some(option) = arguments.next() {
        if option == "--show" {
            show = true;
            continue;
        }
        if option == "--twins" {
            plan.twins = true;
            continue;
        }
        if option == "--settings" {
            plan.settings = true;
            continue;
        }
        let value = arguments.next().ok_or(USAGE)?;
        let number = || -> Result<u64, String> { value.parse().map_err(|_| USAGE.to_owned()) };
        match option.as_str() {
            "--networks" => networks = number()?,
            "--first" => first = number()?,
            "--seed" => plan.seed = number()?,
            "--threads" => plan.threads = usize::try_from(number()?).map_err(|_| USAGE)?,
            "--kind" => plan.draws.push(kind(&value)?),
            "--apart" => plan.draws.push(apart(&value)?),
            "--keep" => keep = Some(PathBuf::from(&value)),
            _ => return Err(USAGE.to_owned()),
        }
    }
    if plan.draws.is_empty() {
        plan.draws = Kind::ALL.map(Draw::One).to_vec();
    }
    plan.numbers = first..first.saturating_add(networks);
    Ok(Arguments {
        plan,
        networks,
        first,
        show,
        keep,
    })
}

fn kind(name: &str) -> Result<Draw, String> {
    if let Ok(count @ 1..=3) = name.parse() {
        return Ok(Draw::Several(count));
    }
    let named = Kind::ALL.into_iter().find(|kind| format!("{kind:?}") == name);
    named
        .map(Draw::One)
        .ok_or_else(|| format!("unknown kind {name}; write one of {:?}", Kind::ALL))
}

fn apart(name: &str) -> Result<Draw, String> {
    match (name, name.parse()) {
        ("outside", _) => Ok(Draw::Outside),
        (_, Ok(count @ 0..=3)) => Ok(Draw::Apart(count)),
        _ => Err(USAGE.to_owned()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let options = arguments()?;
    if options.show {
        return show(&options);
    }
    let directory = std::env::temp_dir().join(format!("diagnosis-table-{}", std::process::id()));
    std::fs::create_dir(&directory)?;
    let began = Instant::now();
    let all = options.networks * options.plan.draws.len() as u64;
    let done = AtomicU64::new(0);
    let each = |_, _, _: &_| {
        let done = done.fetch_add(1, Ordering::Relaxed) + 1;
        if done.is_multiple_of(20) || done == all {
            eprintln!("{done} of {all} networks after {:.0?}", began.elapsed());
        }
    };
    let judged = judge(&options.plan, &directory, &each);
    std::fs::remove_dir_all(&directory)?;
    let judged = judged?;
    print_answers(&judged);
    print_whole(&judged);
    print_outside(&judged);
    print_twins(&judged);
    print_settings(&judged);
    print_values(&judged);
    print_wrong(&judged);
    Ok(())
}

/// A single network, to find out why it was misjudged.
fn show(options: &Arguments) -> Result<(), Box<dyn std::error::Error>> {
    let draw = options.plan.draws.first().ok_or(USAGE)?;
    let network = draw.network(options.plan.seed, options.first);
    let scratch = std::env::temp_dir().join(format!("diagnosis-table-{}.db", std::process::id()));
    let database = options.keep.clone().unwrap_or(scratch);
    let observed = observe(&network, &database)?;
    println!("{:#?}", shortened(network));
    print_tests(&observed);
    for finding in &observed.diagnosis.findings {
        println!("\n{:?} {}: {}", finding.severity, finding.name, finding.sentence);
        for evidence in &finding.evidence {
            println!("    {}: {}", evidence.what, evidence.value);
        }
    }
    println!("\nexplained: {:#?}", observed.diagnosis.explained);
    if options.plan.twins {
        println!("\n{}", weir_diagnose::twin(&observed.measured)?.toml);
        let again = database.with_extension("twin.db");
        let comparison = try_twin(&observed, &again)?;
        std::fs::remove_file(&again)?;
        println!("{:#?}\nleft out: {:?}", comparison.rtt, comparison.left_out);
        for test in comparison.tests {
            println!("{test:?}");
        }
    }
    if options.plan.settings {
        let options = Options {
            target_loss: Some(SETTINGS_TARGET),
            ..BY_TRIAL
        };
        let found = diagnose_by_trial(&observed.measured, &options);
        println!("\n{}", found.answer.lines().join("\n"));
        for compared in found.recommendation.iter().flat_map(|advice| &advice.compared) {
            println!("compared: {compared:?}");
        }
        println!("settings: {:#?}", try_settings(&observed));
    }
    println!(
        "answer to a cause outside the model: {:?}",
        answer_to_outside(&observed)
    );
    println!("error of the shares: {:?}", error_of_shares(&observed));
    for question in QUESTIONS {
        println!("{}: {:?}", question.name, question.of_all(&observed.by_fault()));
    }
    if options.keep.is_none() {
        std::fs::remove_file(&database)?;
    }
    Ok(())
}

/// What every forward flow test met.
fn print_tests(observed: &Observed) {
    for step in &observed.survey.steps {
        let Step::Flows(plan) = &step.step else { continue };
        if !plan.ways.forward() {
            continue;
        }
        let (before, after) = &step.forward;
        println!(
            "run {}: {} flow(s), {} bytes, {} of {} packets; dropped by hosts {}, by a device {}, by the link: {:?}",
            step.run.0,
            plan.flows,
            plan.length,
            after.delivered - before.delivered,
            after.offered - before.offered,
            step.forward_host_losses,
            step.middlebox_losses,
            after.dropped.since(&before.dropped)
        );
    }
}

/// The same network with the first places of long lists of lost packets.
fn shortened(mut network: Network) -> Network {
    for loss in network
        .link
        .forward
        .routes
        .iter_mut()
        .flat_map(|route| &mut route.loss)
    {
        if let LossSpec::Packets(places) = loss {
            places.truncate(5);
        }
    }
    network
}

fn print_answers(judged: &Judged) {
    println!(
        "| finding | right means | networks with it | hits | networks without it | false alarms | right where named |"
    );
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    for (question, answers) in QUESTIONS.iter().zip(&judged.answers) {
        println!(
            "| {} | {} | {} | {} | {} | {} | {} |",
            question.name,
            question.right,
            answers.hits.of,
            answers.hits.percent(),
            answers.alarms.of,
            answers.alarms.percent(),
            answers.named.percent()
        );
    }
}

fn print_whole(judged: &Judged) {
    println!(
        "\n| networks | all that there is found, with the right numbers | with a false alarm | that lose | shares within 5 points |"
    );
    println!("| --- | --- | --- | --- | --- |");
    for (draw, alarmed) in &judged.alarmed {
        let whole = judged.whole.get(draw).copied().unwrap_or_default();
        let shares = judged.shares.get(draw).copied().unwrap_or_default();
        println!(
            "| {draw:?}, {} | {} | {} | {} | {} |",
            whole.of,
            whole.percent(),
            alarmed.percent(),
            shares.of,
            shares.percent()
        );
    }
}

fn print_outside(judged: &Judged) {
    if judged.outside.is_empty() {
        return;
    }
    println!("\n| cause outside the model | networks | unexplained | true as far as it goes | wrong |");
    println!("| --- | --- | --- | --- | --- |");
    for (cause, answers) in &judged.outside {
        let count = |which| answers.iter().filter(|(_, answer)| *answer == which).count();
        println!(
            "| {cause} | {} | {} | {} | {} |",
            answers.len(),
            count(OutsideAnswer::Unexplained),
            count(OutsideAnswer::Honest),
            count(OutsideAnswer::Wrong)
        );
        let wrong = answers
            .iter()
            .filter(|(_, answer)| *answer == OutsideAnswer::Wrong);
        eprintln!(
            "{cause}, wrong: {:?}",
            wrong.map(|(number, _)| number).collect::<Vec<_>>()
        );
    }
}

fn print_twins(judged: &Judged) {
    if judged.twins.is_empty() {
        return;
    }
    println!(
        "\n| networks | loss of every test within the twin's bounds | P99 of the round trip within 20 % |"
    );
    println!("| --- | --- | --- |");
    for (draw, twins) in &judged.twins {
        println!(
            "| {draw:?}, {} | {} | {} |",
            twins.networks.of,
            twins.networks.percent(),
            twins.delays.percent()
        );
        eprintln!("not within them (network, run): {:?}", twins.wrong);
    }
}

fn print_settings(judged: &Judged) {
    if judged.settings.is_empty() {
        return;
    }
    println!(
        "\n| networks | settings meet the target, or nothing does | cost of at most 1.3 times the cheapest |"
    );
    println!("| --- | --- | --- |");
    for (draw, settings) in &judged.settings {
        println!(
            "| {draw:?}, {} | {} | {} |",
            settings.right.of,
            settings.right.percent(),
            settings.near.percent()
        );
        eprintln!("not so (network): {:#?}", settings.wrong);
    }
}

fn print_values(judged: &Judged) {
    println!("\n| value | networks | median error | 95 % below | truth within the stated 95 % bounds |");
    println!("| --- | --- | --- | --- | --- |");
    for (name, values) in &judged.values {
        println!(
            "| {name} | {} | {:.1} % | {:.1} % | {} |",
            values.errors.count(),
            100.0 * values.errors.quantile(0.5),
            100.0 * values.errors.quantile(0.95),
            values.within.percent()
        );
    }
}

fn print_wrong(judged: &Judged) {
    eprintln!("\nWrong answers (kind, number, truth, said):");
    for (question, answers) in QUESTIONS.iter().zip(&judged.answers) {
        for (draw, number, truth, said) in &answers.wrong {
            let how = match (truth, said) {
                (Truth::Present, Said::Nothing) => "missed",
                (Truth::Present, _) => "misnamed",
                _ => "false alarm",
            };
            eprintln!("{}: {how}: {draw:?} --first {number}", question.name);
        }
    }
    for (draw, number, error) in &judged.shares_off {
        eprintln!("shares off by {error:.2}: {draw:?} --first {number}");
    }
    for (draw, number, why) in &judged.failed {
        eprintln!("not surveyed: {draw:?} --first {number}: {why}");
    }
}
