//! Grids: their axes, and what their cells have in common.

use weir_population::{Collected, Grid, GridSummary, Plan, Played, Population, Shard, play_all, play_some};

use crate::small::{PUBLISHED, changed, population};

const CALL: &str = "\n[[neighbour]]\nname = \"call\"\nkind = \"call\"\nshare = 1\n";

fn words(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

fn grid(queues: &[&str], congestion: &[&str], paces: &[&str]) -> Grid {
    Grid {
        queues: words(queues),
        congestion: words(congestion),
        paces: words(paces),
    }
}

fn over(grid: &Grid) -> Result<Population, String> {
    let changes = [("\"80s\"", "\"24s\""), ("\"500kbit/s\", ", "")];
    let more = [CALL, PUBLISHED].concat();
    grid.over(population(&changed(&changes, &more)))
        .map_err(|error| error.to_string())
}

fn played(population: &Population, households: u64) -> Vec<Vec<Played>> {
    let plan = Plan {
        households,
        seed: 3,
        shard: Shard::default(),
        done: 0,
        threads: 2,
        unix_ns: 0,
    };
    assert!((0.0..=1.0).contains(&play_some(population, &plan).expect("a few")));
    let mut all = Vec::new();
    play_all(population, &plan, &|| false, |variants| all.push(variants)).expect("households");
    all
}

/// A queue that isolates flows holds nothing of others in front of a call: its packets wait for one packet at most, 1,500
/// bytes at 20 Mbit/s, whatever the pace. In tail drop they wait behind the stream, and a pace below the line frees them.
#[test]
fn flow_queues_isolate_a_call_and_so_does_a_pace() {
    let grid = grid(&["tail-drop:2bdp", "fq-codel"], &["cubic"], &["none", "top:2"]);
    let population = over(&grid).expect("a grid");
    let mut collected = Collected::new(&population);
    for played in played(&population, 3).iter().flatten() {
        collected.session(&played.session);
        played.neighbours.iter().for_each(|row| collected.neighbour(row));
    }
    let summary = GridSummary::new(&grid, &population, &collected);
    let figure = |name: &str| {
        summary
            .figures
            .iter()
            .find(|figure| figure.figure == name)
            .expect(name)
    };
    let published = figure("media.throughput").published.as_ref().expect("a range");
    assert_eq!((published.change, &*published.source), ((-0.85, -0.6), "a talk"));
    assert_eq!(figure("call.owd.p95").published, None);
    let delays: Vec<f64> = figure("call.owd.p95")
        .cells
        .iter()
        .map(|cell| cell.spread.mean)
        .collect();
    // Half of the round trip, the call's own packet, and one of 1,500 bytes; buckets of the histogram are within 0.2 %.
    let (alone, packet) = (20e6 + 80e3, 600e3);
    let [tail, tail_paced, flows, flows_paced] = delays[..] else {
        panic!("{delays:?}")
    };
    for isolated in [flows, flows_paced] {
        assert!(isolated < (alone + packet) * 1.002, "{delays:?}");
    }
    assert!(tail > alone + 10.0 * packet, "{delays:?}");
    // The burst of the pace is two packets.
    assert!(tail_paced < (alone + 2.0 * packet) * 1.002, "{delays:?}");
    let gain = &summary.gains[0];
    let of = |best: &Option<weir_population::Best>| {
        let best = best.as_ref().expect("a best cell");
        (
            best.queue.clone(),
            best.pace.clone(),
            best.change.mean.expect("a mean"),
        )
    };
    let change = tail_paced / tail - 1.0;
    assert_eq!(of(&gain.pace).1, "top:2");
    assert!((of(&gain.pace).2 - change).abs() < 1e-9);
    assert_eq!(of(&gain.queue).0, "fq-codel");
    assert!((of(&gain.pace_in_queue).2 - (flows_paced / flows - 1.0)).abs() < 1e-9);
}

/// A cell is what a population with that queue and that congestion control is: the same random numbers.
#[test]
fn a_cell_is_the_population_with_its_queue_and_its_control() {
    let cells = over(&grid(&["codel"], &["bbr", "l4s"], &["top:1.5", "none"])).expect("a grid");
    let alone = [
        ("\"80s\"", "\"24s\""),
        ("\"500kbit/s\", ", ""),
        ("\"2bdp\"", "{ kind = \"codel\" }"),
        ("\"cubic\"", "\"bbr\""),
        (
            "name = \"unpaced\"",
            "name = \"unpaced\"\npace = \"top:1.5\"\npace-factor = 1",
        ),
    ];
    let alone = population(&changed(&alone, CALL));
    for (cells, alone) in played(&cells, 2).iter().zip(&played(&alone, 2)) {
        let mut cell = cells[0].clone();
        assert_eq!(cell.session.variant, "codel/bbr/top:1.5");
        cell.session.variant = "unpaced".to_owned();
        cell.neighbours[0].variant = "unpaced".to_owned();
        assert_eq!(cell, alone[0]);
        let unpaced_l4s = &cells[3].session;
        assert!(unpaced_l4s.queue_marked > 0, "{unpaced_l4s:?}");
    }
}

#[test]
fn a_mistake_in_an_axis_is_named() {
    let good = (["codel"], ["cubic"], ["none"]);
    assert!(over(&grid(&good.0, &good.1, &good.2)).is_ok());
    for (mistake, parts) in [
        (grid(&["codle"], &good.1, &good.2), ["codle", "fq-codel"]),
        (grid(&["codel:2bpd"], &good.1, &good.2), ["2bpd", "limit"]),
        (grid(&good.0, &["vegas"], &good.2), ["vegas", "bbr"]),
        (grid(&good.0, &good.1, &["top:x"]), ["top:x", "sammy:C0,C1"]),
        (grid(&good.0, &good.1, &["none", "none"]), ["paces", "twice"]),
        (grid(&[], &good.1, &good.2), ["queues", "1 to 64"]),
    ] {
        let error = over(&mistake).expect_err("a mistake");
        for part in parts {
            assert!(error.contains(part), "{part} in {error}");
        }
        assert_eq!(error.lines().count(), 1, "{error}");
    }
}
