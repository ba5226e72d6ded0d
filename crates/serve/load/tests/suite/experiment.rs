//! Experiments: their files, their runs and the order of these, what is left of them, and what they come to.

use std::collections::BTreeSet;
use std::path::Path;

use weir_load::experiment::{
    Bench, Cell, Compared, Done, Experiment, Group, Machine, Model, Outcome, left, make, markdown, read,
};

fn file(name: &str) -> Experiment {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../../experiments")
        .join(name);
    let text = std::fs::read_to_string(&path).expect("the file");
    read(&text).expect("an experiment")
}

const SMALL: &str = r#"
name = "small"
repeats = 3
seed = 5
[titles]
duration = "60s"
audio = "132kbit/s"
[storage]
delay = "20ms"
[[part]]
name = "one"
configurations = ["A", "E"]
segments = ["2s", "4s"]
video = ["1Mbit/s"]
viewers = ["0..10"]
duration = "5s"
"#;

#[test]
fn the_experiments_of_the_repository_are_what_their_comments_say() {
    let large = file("vod-object-storage.toml");
    let cells = large.cells();
    assert_eq!(cells.len(), 3 * (5 + 9 + 2));
    // 3 x (5 x 60 s + 9 x 30 s + 2 x 40 s).
    assert_eq!(
        large.takes_ns(&cells),
        3 * (5 * 60 + 9 * 30 + 2 * 40) * 1_000_000_000
    );
    assert_eq!(
        large.published.as_ref().map(|published| published.rows.len()),
        Some(5)
    );
    let quick = file("quick.toml");
    assert!(quick.takes_ns(&quick.cells()) < 60_000_000_000);
}

#[test]
fn each_repeat_makes_every_run_once_in_an_order_that_follows_from_the_seed() {
    let experiment = read(SMALL).expect("an experiment");
    let cells = experiment.cells();
    let keys: BTreeSet<String> = cells.iter().map(|cell| cell.key()).collect();
    assert_eq!((cells.len(), keys.len()), (12, 12));
    for (repeat, block) in cells.chunks(4).enumerate() {
        assert!(block.iter().all(|cell| cell.repeat == repeat as u32 + 1));
    }
    assert_eq!(experiment.cells(), cells);
    let orders: BTreeSet<Vec<String>> = (0..20)
        .map(|seed| {
            let other = read(&SMALL.replace("seed = 5", &format!("seed = {seed}"))).expect("an experiment");
            other.cells().iter().map(|cell| cell.key()).collect()
        })
        .collect();
    assert!(orders.len() > 10, "{} orders", orders.len());
}

/// Makes runs until a number of them is made, then fails or is interrupted.
struct Counted {
    made: Vec<String>,
    most: usize,
    fails: bool,
}

impl Bench for Counted {
    type Error = &'static str;

    fn measure(&mut self, cell: &Cell) -> Result<Option<Done>, &'static str> {
        match (self.made.len() == self.most, self.fails) {
            (true, true) => return Err("no origin"),
            (true, false) => return Ok(None),
            (false, _) => self.made.push(cell.key()),
        }
        Ok(Some(Done {
            cell: cell.clone(),
            run: self.made.len() as i64,
            outcome: Outcome::default(),
        }))
    }
}

#[test]
fn every_run_is_made_once_however_often_the_experiment_is_interrupted() {
    let experiment = read(SMALL).expect("an experiment");
    let (mut done, mut made) = (Vec::new(), Vec::new());
    // Two configurations, two lengths of segments, three times: twelve runs, made in three goes.
    for (most, fails, remain) in [(5, false, 7), (4, true, 3), (100, false, 0)] {
        let mut bench = Counted {
            made: Vec::new(),
            most,
            fails,
        };
        let ended = make(&experiment, &mut done, &mut bench, &|_, _| true);
        assert_eq!(ended.is_err(), fails);
        made.extend(bench.made);
        assert_eq!(left(&experiment, &done).len(), remain);
    }
    let order: Vec<String> = experiment.cells().iter().map(Cell::key).collect();
    assert_eq!(made, order);
    assert_eq!(done.len(), 12);
    // Nobody wants the next one.
    let mut bench = Counted {
        made: Vec::new(),
        most: 100,
        fails: false,
    };
    let numbers = |number: usize, left: &[Cell]| number < 2 && left.len() == 12;
    assert_eq!(make(&experiment, &mut Vec::new(), &mut bench, &numbers), Ok(()));
    assert_eq!(bench.made, order[..2]);
}

#[test]
fn options_are_those_of_the_commands() {
    let text = SMALL.replace(
        "duration = \"5s\"",
        "duration = \"5s\"\noptions = [\"--play\", \"real-time\"]",
    );
    let experiment = read(&text).expect("an experiment");
    let cell = experiment
        .cells()
        .into_iter()
        .find(|cell| cell.key() == "one:E:4s:1Mbit/s:0..10:warm#2");
    let cell = cell.expect("the run");
    assert_eq!(
        experiment.origin_options(&cell).join(" "),
        "--configuration E --segment 4s --threads 1"
    );
    assert_eq!(
        experiment.load_options(&cell).join(" "),
        "--viewers 0..10 --threads 1 --seed 7 --for 5s --over 5s --play real-time"
    );
    assert_eq!(cell.media_rate(), 566_000.0);
}

#[test]
fn what_is_wrong_with_a_file_is_said_in_a_line() {
    let cases = [
        ("name = \"small\"", "name = \"\"", "name: '' is not a name"),
        ("name = \"small\"", "name = \"../x\"", "is not a name"),
        (
            "name = \"small\"",
            "nam = \"small\"",
            "line 2: unknown field `nam`",
        ),
        ("repeats = 3", "repeats = 0", "repeats: 0 is not from 1"),
        (
            "repeats = 3",
            "repeats = 1000000",
            "repeats: 1000000 is not from 1",
        ),
        ("seed = 5", "seed = -1", "line 4: "),
        ("\"60s\"", "\"60\"", "titles: duration: "),
        ("\"60s\"", "\"1s\"", "titles: duration 1s is not from 10s"),
        ("\"20ms\"", "\"1h\"", "storage: delay 1h exceeds"),
        (
            "delay = \"20ms\"",
            "place = \"s3://b/\"",
            "generated titles have their own folder",
        ),
        (
            "delay = \"20ms\"",
            "place = \"s3://b/\"\ndelay = \"1ms\"",
            "storage: place conflicts with",
        ),
        ("[\"A\", \"E\"]", "[]", "part one: configurations has 0 entries"),
        (
            "[\"A\", \"E\"]",
            "[\"A\", \"A\"]",
            "part one: configurations has an entry twice",
        ),
        ("\"5s\"", "\"0s\"", "part one: duration 0s is not from 1s"),
        ("\"1Mbit/s\"", "\"1000000\"", "part one: video: "),
        (
            "[[part]]",
            "[[title]]\nvideo = \"1Mbit/s\"\naudio = \"1kbit/s\"\npath = \"x\"\n[[part]]",
            "keep one of them",
        ),
    ];
    for (before, after, expected) in cases {
        let error = read(&SMALL.replacen(before, after, 1))
            .expect_err(after)
            .to_string();
        assert!(error.contains(expected), "{after}: {error}");
        assert!(!error.contains('\n'), "{error}");
    }
    let twice = format!("{SMALL}{}", &SMALL[SMALL.find("[[part]]").expect("a part")..]);
    assert!(
        read(&twice)
            .expect_err("two parts")
            .to_string()
            .contains("two parts have this name")
    );
    let no_part = &SMALL[..SMALL.find("[[part]]").expect("a part")];
    assert!(
        read(no_part)
            .expect_err("no part")
            .to_string()
            .contains("no [[part]]")
    );
}

/// Runs whose numbers are those of `tests/experiment.py`.
fn done(experiment: &Experiment) -> Vec<Done> {
    let cells = experiment.cells();
    let number = |cell: &weir_load::experiment::Cell| {
        let configuration = if cell.configuration == "A" { 1.0 } else { 2.0 };
        (configuration, cell.segment.0 as f64 / 1e9, f64::from(cell.repeat))
    };
    let outcome = |cell: &weir_load::experiment::Cell| {
        let (configuration, seconds, repeat) = number(cell);
        let rate = 100.0 * configuration + 10.0 * repeat;
        Outcome {
            requests: 1_000,
            media_per_second: rate,
            requests_per_second: rate + 1.0,
            // What the model says, and one in fifty of it more or less.
            out_bps: rate * seconds * 566_000.0 * (1.0 + 0.02 * (repeat - 2.0) * (configuration - 1.5)),
            in_bps: Some(rate * seconds * 566_000.0 * if configuration == 1.0 { 3.0 } else { 1.02 }),
            efficiency: Some(if configuration == 1.0 {
                1.0 / 3.0
            } else {
                1.0 / 1.02
            }),
            mean_ns: 5e6 / configuration,
            ..Outcome::default()
        }
    };
    cells
        .into_iter()
        .enumerate()
        .map(|(number, cell)| Done {
            outcome: outcome(&cell),
            run: number as i64 + 1,
            cell,
        })
        .collect()
}

#[test]
fn repeats_are_put_together_and_the_model_is_that_of_an_independent_computation() {
    let experiment = read(SMALL).expect("an experiment");
    let done = done(&experiment);
    let groups = Group::all(&experiment, &done);
    let names: Vec<String> = groups.iter().map(|group| group.cell.group_key()).collect();
    assert_eq!(
        names,
        [
            "one:A:2s:1Mbit/s:0..10:warm",
            "one:A:4s:1Mbit/s:0..10:warm",
            "one:E:2s:1Mbit/s:0..10:warm",
            "one:E:4s:1Mbit/s:0..10:warm"
        ]
    );
    let rates = groups[2].requests_per_second.expect("rates");
    assert_eq!(
        (groups[2].count, rates.mean, rates.low, rates.high),
        (3, 221.0, 211.0, 231.0)
    );
    let model = Model::fit(&experiment, &done).expect("a model");
    let near =
        |value: f64, expected: f64| assert!((value / expected - 1.0).abs() < 1e-9, "{value}, not {expected}");
    // Printed by tests/experiment.py.
    near(model.factor, 1.0002118644067797);
    near(model.r_squared, 0.9996164931981102);
    near(model.deviation_bps, 2708159.6295921793);
    near(model.largest_residual, 0.010315014552302687);
    assert_eq!(model.points.len(), 12);
    // Runs with failures are left out.
    let mut failing = done.clone();
    failing[0].outcome.failed = 1;
    assert_eq!(
        Model::fit(&experiment, &failing).map(|model| model.points.len()),
        Some(11)
    );
    assert_eq!(Model::fit(&experiment, &[]), None);
}

#[test]
fn the_page_holds_every_group_and_the_published_table_beside() {
    let text = format!(
        "{SMALL}\n[published]\nsource = \"Somebody, Table 1\"\npart = \"one\"\nfastest = [\"E\"]\n\
         [[published.row]]\nconfiguration = \"A\"\nin = \"3Gbit/s\"\nout = \"1Gbit/s\"\nefficiency = 0.333\n\
         [[published.row]]\nconfiguration = \"E\"\nin = \"1.25Gbit/s\"\nout = \"1.2Gbit/s\"\nefficiency = 0.96\n"
    );
    let experiment = read(&text).expect("an experiment");
    let done = done(&experiment);
    let groups = Group::all(&experiment, &done);
    let compared = Compared::all(&experiment, &groups);
    assert_eq!(compared[1].published_relative, 1.2);
    assert!((compared[1].relative.expect("a ratio") - 220.0 / 120.0).abs() < 0.01);
    let model = Model::fit(&experiment, &done);
    let machine = Machine {
        description: "virtual machine, 2 cores".to_owned(),
        day: "2026-11-22".to_owned(),
        ..Machine::default()
    };
    let page = markdown(&experiment, &groups, &compared, model.as_ref(), &machine);
    for part in [
        "# small\n",
        "12 runs, 3 of each combination, in an order",
        "| E | 4s | 1Mbit/s | 0..10 | warm |",
        "221.0 (211.0 to 231.0)",
        "## Comparison with published figures",
        "By OUT, highest first: E, A (published); E, A (measured).",
        "By IN, highest first: A, E (published);",
        "E sends 20 % more than A (published), ",
        "Per byte sent, E reads 65.3 % less than A from the storage (published), 66 % less than it (measured).",
        "By mean time to last byte, fastest first: E (2.50 ms), E (2.50 ms), A (5.00 ms), A (5.00 ms) (measured). Published as fastest: E.",
        "E: OUT/IN 0.980 (measured), 0.960 (published), ratio 1.02. It sends",
        "## The model OUT = k x R x S x B",
    ] {
        assert!(page.contains(part), "no '{part}' in\n{page}");
    }
    // Every line of a table has as many cells as its head.
    let mut cells = None;
    for line in page.lines() {
        let count = line.starts_with('|').then(|| line.matches(" | ").count());
        assert!(cells.is_none() || count.is_none() || cells == count, "{line}");
        cells = count;
    }
    let few = markdown(&experiment, &groups[..1], &[], None, &machine);
    assert!(few.contains("3 of 12 runs"), "{few}");
}
