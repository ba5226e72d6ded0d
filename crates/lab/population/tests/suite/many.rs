//! Many households: the same whatever the number of threads, shards and interruptions.

use std::sync::atomic::{AtomicBool, Ordering};

use weir_population::{Collected, Plan, Played, Population, Shard, play_all};

use crate::small::{changed, population};

const MORE: &str = r#"
[[variant]]
name = "paced"
pace = "top:2"

[[neighbour]]
name = "call"
kind = "call"
share = 0.5
"#;

fn varied() -> Population {
    let changes = [
        (
            "\"20Mbit/s\"",
            "{ median = \"10Mbit/s\", sigma = 0.5, min = \"4Mbit/s\", max = \"40Mbit/s\" }",
        ),
        ("\"40ms\"", "{ shares = [[0.5, \"10ms\"], [0.5, \"60ms\"]] }"),
        (
            "\"cubic\"",
            "{ shares = [[0.4, \"reno\"], [0.4, \"bbr\"], [0.2, \"cubic\"]] }",
        ),
        (
            "length = \"80s\"",
            "length = { median = \"30s\", sigma = 0.4, min = \"10s\", max = \"60s\" }",
        ),
    ];
    population(&changed(&changes, MORE))
}

fn plan() -> Plan {
    Plan {
        households: 13,
        seed: 9,
        shard: Shard::default(),
        done: 0,
        threads: 1,
        unix_ns: 5,
    }
}

fn all(population: &Population, plan: &Plan) -> Vec<Vec<Played>> {
    let mut found = Vec::new();
    play_all(population, plan, &|| false, |variants| found.push(variants))
        .unwrap_or_else(|error| panic!("{error}"));
    found
}

#[test]
fn threads_shards_and_interruptions_change_nothing() {
    let population = varied();
    let whole = all(&population, &plan());
    assert_eq!(whole.len(), 13);
    assert!(whole[0].len() == 2 && whole[0][0].session.household == 0);
    assert_eq!(all(&population, &Plan { threads: 3, ..plan() }), whole);

    let mut sharded: Vec<Vec<Played>> = (1..=3)
        .flat_map(|number| {
            let shard = Shard { number, of: 3 };
            all(&population, &Plan { shard, ..plan() })
        })
        .collect();
    sharded.sort_by_key(|variants| variants[0].session.household);
    assert_eq!(sharded, whole);

    let mut resumed = whole[..5].to_vec();
    resumed.extend(all(&population, &Plan { done: 5, ..plan() }));
    assert_eq!(resumed, whole);
    assert_ne!(all(&population, &Plan { seed: 10, ..plan() }), whole);
}

#[test]
fn a_stop_ends_with_whole_households_in_their_order() {
    let population = varied();
    let (stop, mut seen) = (AtomicBool::new(false), Vec::new());
    play_all(
        &population,
        &Plan { threads: 2, ..plan() },
        &|| stop.load(Ordering::Relaxed),
        |variants| {
            seen.push(variants[0].session.household);
            stop.store(true, Ordering::Relaxed);
        },
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert!(seen.len() < 13, "{seen:?}");
    assert!(seen.iter().copied().eq(0..seen.len() as u64), "{seen:?}");
}

#[test]
fn the_summary_of_shards_is_that_of_the_whole() {
    let population = varied();
    let rows = all(&population, &plan());
    let summary = |order: &mut dyn Iterator<Item = &Vec<Played>>| {
        let mut collected = Collected::new(&population);
        for played in order.flatten() {
            collected.session(&played.session);
            for neighbour in &played.neighbours {
                collected.neighbour(neighbour);
            }
        }
        collected.summary(&population)
    };
    let whole = summary(&mut rows.iter());
    assert_eq!(summary(&mut rows.iter().rev()), whole);
    assert_eq!((whole.households, whole.unfinished), (13, 0));
    let row = |name: &str| whole.figures.iter().find(|row| row.figure == name).expect(name);
    let throughput = row("media.throughput").variants[1]
        .change
        .as_ref()
        .expect("a change");
    assert!(
        throughput.mean_interval.expect("13 households").1 < 0.0,
        "{throughput:?}"
    );
    assert!(row("call.owd.mean").variants[0].spread.households < 13);
}

#[test]
fn shards_are_written_as_one_of_several() {
    assert_eq!("3/8".parse(), Ok(Shard { number: 3, of: 8 }));
    for text in ["", "3", "0/8", "9/8", "1/0", "a/b", "1/2/3", "-1/2"] {
        let error = text.parse::<Shard>().expect_err(text).to_string();
        assert!(error.contains("K/N"), "{error}");
    }
    let count = |number| {
        Plan {
            shard: Shard { number, of: 5 },
            ..plan()
        }
        .count()
    };
    assert_eq!((1..=5).map(count).collect::<Vec<_>>(), [3, 3, 3, 2, 2]);
}
