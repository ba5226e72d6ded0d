//! Places, plans and reports of meshes as tables.

use crate::units::{format_bytes, format_count, format_duration, format_rate};
use weir_mesh::best::Candidate;
use weir_mesh::distance::fibre_floor_ns;
use weir_mesh::estimate::{Cut, Estimate};
use weir_mesh::filter::Over;
use weir_mesh::fit::Fit;
use weir_mesh::instances::Read;
use weir_mesh::made::Made;
use weir_mesh::place::Place;
use weir_mesh::preset::Preset;
use weir_mesh::price::Prices;
use weir_mesh::report::{BetweenClouds, Effect, Hour, Report, SideBySide, Sold, Window};
use weir_mesh::select::Node;
use weir_results::MeshTest;

use super::{or_dash, table, titled};
use weir_units::count_of;

/// Maximum number of rows of a list without `-v`.
const MOST_ROWS: usize = 20;
const MIB: f64 = 1_048_576.0;

fn kilometres(metres: f64) -> String {
    format!("{} km", format_count((metres / 1e3).round() as u64))
}

/// Regions, with the distance from a point where one was given.
pub fn mesh_regions(places: &[(&Place, Option<f64>)]) -> String {
    let near = places.iter().any(|(_, metres)| metres.is_some());
    let mut header = vec!["place", "city", "country", "north", "east", "source"];
    if near {
        header.extend(["distance", "fibre floor"]);
    }
    let mut rows = table(&header);
    for (place, metres) in places {
        let point = place.coordinates;
        let degrees = |value: Option<f64>| or_dash(value, |value| format!("{value:.2}"));
        let mut row = vec![
            place.name.to_string(),
            if place.city.is_empty() {
                place.title.clone()
            } else {
                place.city.clone()
            },
            place.country.clone(),
            degrees(point.map(|point| point.latitude)),
            degrees(point.map(|point| point.longitude)),
            place.source.clone(),
        ];
        if let Some(metres) = metres {
            row.extend([kilometres(*metres), format_duration(fibre_floor_ns(*metres))]);
        }
        rows.add_row(row);
    }
    titled(&format!("{} regions", places.len()), &rows)
}

/// Duration, traffic and cost of a plan, and the tests of its first rounds.
pub fn mesh_plan(made: &Made) -> String {
    let (nodes, plan) = (&made.nodes, &made.plan);
    let Estimate {
        hosts,
        tests,
        rounds,
        fewest_rounds,
        duration_ns,
        bytes,
        egress_usd,
        hosts_usd,
        unpriced_tests,
        unchecked_prices,
        oldest_price,
        cut,
    } = &plan.estimate;
    let mut text = format!(
        "estimated cost: {:.2} USD: {egress_usd:.2} USD for traffic, {hosts_usd:.2} USD for machines if launched\n",
        egress_usd + hosts_usd
    );
    text.push_str(&format!(
        "{}, {} in {} (at least {fewest_rounds})\nabout {}, at most {} sent\n",
        count_of(*hosts as u64, "host"),
        count_of(*tests as u64, "test"),
        count_of(*rounds as u64, "round"),
        format_duration(*duration_ns),
        format_bytes(*bytes),
    ));
    for limit in made.preset.map(Preset::cannot_show).unwrap_or_default() {
        text.push_str(&format!("cannot show {limit}\n"));
    }
    for cut in cut {
        text.push_str(&format!("warning: {}\n", cut_short(cut)));
    }
    if !oldest_price.is_empty() {
        text.push_str(&format!(
            "note: list prices, the oldest of {oldest_price}, {unchecked_prices} of them not read at the provider; free allowances and \
            discounts are not included (--prices FILE)\n"
        ));
    }
    if *unpriced_tests > 0 {
        text.push_str(&format!(
            "note: no price is known for the traffic of {}\n",
            count_of(*unpriced_tests as u64, "test")
        ));
    }
    let mut rows = table(&["from", "to", "addresses", "round", "distance"]);
    let in_rounds = plan
        .rounds
        .iter()
        .enumerate()
        .flat_map(|(round, pairs)| pairs.iter().map(move |index| (round, *index)));
    for (round, index) in in_rounds.take(MOST_ROWS) {
        let (from, to) = plan.pairs[index];
        let (from, to) = (&nodes[from], &nodes[to]);
        let distance = from.place.distance_m(&to.place);
        rows.add_row(vec![
            end(from),
            end(to),
            made.over[index].as_str().to_owned(),
            (round + 1).to_string(),
            or_dash(distance, kilometres),
        ]);
    }
    text.push('\n');
    text.push_str(&titled("first tests", &rows));
    if *tests > MOST_ROWS {
        text.push_str(&format!(
            "and {} more (--json lists all)\n",
            format_count((tests - MOST_ROWS) as u64)
        ));
    }
    text
}

fn cut_short(cut: &Cut) -> String {
    let part = match cut.part {
        "udp" => "the UDP test",
        "tcp" => "the TCP test with one connection",
        "tcp-streams" => "the TCP test with several connections",
        _ => "the survey",
    };
    if cut.left_ns == 0 {
        return format!("--max-bytes leaves out {part}, if the path carries --expect-rate");
    }
    format!(
        "--max-bytes ends {part} after {} of {}, if the path carries --expect-rate",
        format_duration(cut.left_ns),
        format_duration(cut.wanted_ns)
    )
}

fn end(node: &Node) -> String {
    let place = node.place.name.to_string();
    if node.name == place {
        place
    } else {
        format!("{place} ({})", node.name)
    }
}

/// The report of the tests.
pub fn mesh_report(report: &Report, best: Option<&[Candidate]>, all: bool) -> String {
    let mut text = format!(
        "{} of {}",
        count_of(report.tests as u64, "test"),
        count_of(report.pairs as u64, "pair")
    );
    if report.without_distance > 0 {
        text.push_str(&format!(", {} without a distance", report.without_distance));
    }
    text.push_str("\n\n");
    text.push_str(&titled(
        "RTT against distance (light in fibre: 10.0 ms per 1,000 km)",
        &rtt_rows(report),
    ));
    text.push_str(&titled(
        "log10 of single-connection throughput against distance",
        &throughput_rows(report),
    ));
    let most = if all { usize::MAX } else { MOST_ROWS };
    if !report.windows.is_empty() {
        text.push_str(&titled(
            "TCP window implied by throughput and RTT, for tests with an RTT above 60 ms",
            &window_rows(&report.windows, most),
        ));
    }
    if let Some(between) = &report.between_clouds {
        text.push_str(&between_clouds(between));
    }
    if let Some(hours) = &report.by_hour {
        text.push_str(&titled(
            &format!(
                "throughput by hour of the day (UTC) over the median of its pair: {} of {} on {}, P10 {:.2}, P90 {:.2}",
                count_of(hours.tests as u64, "test"),
                count_of(hours.pairs as u64, "pair"),
                count_of(hours.days as u64, "day"),
                hours.spread.0,
                hours.spread.1
            ),
            &hour_rows(&hours.hours),
        ));
    }
    if !report.sold.is_empty() {
        text.push_str(&titled(
            "throughput beside the bandwidth that the sending instance is sold with",
            &sold_rows(&report.sold),
        ));
    }
    if !report.side_by_side.is_empty() {
        text.push_str(&titled(
            "private beside public addresses, medians",
            &side_by_side_rows(&report.side_by_side),
        ));
    }
    if !report.impossible.is_empty() {
        let mut rows = table(&["from", "to", "distance", "RTT", "fibre floor"]);
        for test in report.impossible.iter().take(most) {
            rows.add_row(vec![
                test.from.clone(),
                test.to.clone(),
                kilometres(test.distance_m as f64),
                format_duration(test.rtt_ns),
                format_duration(fibre_floor_ns(test.distance_m as f64)),
            ]);
        }
        text.push_str(&titled(
            "faster than light in fibre: the location of one place is wrong",
            &rows,
        ));
    }
    if let Some(best) = best {
        text.push_str(&titled("places, best first", &best_rows(best, most)));
    }
    text
}

fn between_clouds(between: &BetweenClouds) -> String {
    let mut rows = table(&["at equal distance, between clouds", "value", "95 %", "p"]);
    let mut add = |name: &str, effect: Option<Effect>, unit: &str, digits: usize| {
        let Some(effect) = effect else { return };
        rows.add_row(vec![
            name.to_owned(),
            format!("{:.digits$}{unit}", effect.value),
            interval(Some(effect.interval), digits),
            format!("{:.1e}", effect.p_value),
        ]);
    };
    add("RTT, added", between.rtt_ms, " ms", 1);
    add("throughput, factor", between.throughput, "", 2);
    titled(
        &format!(
            "{} between clouds beside {} within one",
            count_of(between.between as u64, "test"),
            format_count(between.within as u64)
        ),
        &rows,
    )
}

fn hour_rows(hours: &[Hour]) -> comfy_table::Table {
    let mut rows = table(&["hour", "tests", "median", "95 %"]);
    for hour in hours {
        rows.add_row(vec![
            format!("{:02}", hour.hour),
            hour.tests.to_string(),
            format!("{:.2}", hour.median),
            interval(hour.median_interval, 2),
        ]);
    }
    rows
}

fn sold_rows(sold: &[Sold]) -> comfy_table::Table {
    let mut rows = table(&[
        "instance",
        "tests",
        "median",
        "highest",
        "baseline",
        "burst",
        "USD/h per Gbit/s held",
    ]);
    for row in sold {
        let mark = row.read.map_or("", Read::mark);
        let rate = |bps: Option<u64>| or_dash(bps, |bps| format!("{}{mark}", format_rate(bps)));
        rows.add_row(vec![
            format!("{}:{}", row.cloud, row.instance),
            row.tests.to_string(),
            format_rate(row.median_bps as u64),
            format_rate(row.highest_bps),
            rate(row.baseline_bps),
            rate(row.burst_bps),
            or_dash(row.usd_per_gbit, |usd| {
                format!("{usd:.3}{}", row.usd_read.map_or("", Read::mark))
            }),
        ]);
    }
    rows
}

fn side_by_side_rows(pairs: &[SideBySide]) -> comfy_table::Table {
    let mut rows = table(&[
        "from",
        "to",
        "addresses",
        "tests",
        "RTT",
        "throughput",
        "path MTU",
    ]);
    for pair in pairs {
        for (over, side) in [(Over::Private, &pair.private), (Over::Public, &pair.public)] {
            rows.add_row(vec![
                pair.from.clone(),
                pair.to.clone(),
                over.as_str().to_owned(),
                side.tests.to_string(),
                or_dash(side.rtt_ns, |rtt| format_duration(rtt as u64)),
                or_dash(side.bps, |bps| format_rate(bps as u64)),
                or_dash(side.path_mtu, |mtu| mtu.to_string()),
            ]);
        }
    }
    rows
}

fn rtt_rows(report: &Report) -> comfy_table::Table {
    let mut rows = table(&[
        "tests",
        "n",
        "r",
        "95 %",
        "ms per 1,000 km",
        "95 %",
        "at 0 km",
        "RTT over floor",
    ]);
    for group in &report.groups {
        let mut row = vec![group.name.clone(), group.with_distance.to_string()];
        match &group.rtt {
            Some(fit) => row.extend([
                format!("{:.3}", fit.correlation),
                interval(fit.correlation_interval, 3),
                format!("{:.2}", fit.slope),
                interval(Some(fit.slope_interval), 2),
                format!("{:.1} ms", fit.intercept),
            ]),
            None => row.extend(std::iter::repeat_n("-".to_owned(), 5)),
        }
        row.push(or_dash(group.stretch, |stretch| format!("{stretch:.2}")));
        rows.add_row(row);
    }
    rows
}

fn throughput_rows(report: &Report) -> comfy_table::Table {
    let mut rows = table(&[
        "tests",
        "n",
        "r",
        "95 %",
        "per 1,000 km",
        "95 %",
        "at 0 km",
        "r (log-log)",
    ]);
    for group in &report.groups {
        let Some(fit) = &group.throughput else {
            continue;
        };
        // A slope in the logarithm is a factor.
        let factor = |slope: f64| 10f64.powf(slope);
        let Fit { slope_interval, .. } = fit;
        rows.add_row(vec![
            group.name.clone(),
            fit.points.to_string(),
            format!("{:.3}", fit.correlation),
            interval(fit.correlation_interval, 3),
            format!("x {:.3}", factor(fit.slope)),
            interval(Some((factor(slope_interval.0), factor(slope_interval.1))), 3),
            format_rate(10f64.powf(fit.intercept) as u64),
            or_dash(group.throughput_log, |fit| format!("{:.3}", fit.correlation)),
        ]);
    }
    rows
}

fn interval(bounds: Option<(f64, f64)>, digits: usize) -> String {
    or_dash(bounds, |(low, high)| format!("{low:.digits$} to {high:.digits$}"))
}

fn window_rows(windows: &[Window], most: usize) -> comfy_table::Table {
    let mut rows = table(&["towards", "tests", "median", "95 %", "mean"]);
    for window in windows.iter().take(most) {
        let bounds = window
            .median_interval_bytes
            .map(|(low, high)| (low / MIB, high / MIB));
        rows.add_row(vec![
            window.to.clone(),
            window.tests.to_string(),
            format!("{:.2} MiB", window.median_bytes / MIB),
            interval(bounds, 2),
            format!("{:.2} MiB", window.mean_bytes / MIB),
        ]);
    }
    rows
}

fn best_rows(best: &[Candidate], most: usize) -> comfy_table::Table {
    let mut rows = table(&[
        "place",
        "max RTT",
        "mean RTT",
        "egress, 1 GB to each peer",
        "peers measured",
    ]);
    for candidate in best.iter().take(most) {
        rows.add_row(vec![
            candidate.place.clone(),
            format_duration(candidate.max_rtt_ns as u64),
            format_duration(candidate.mean_rtt_ns as u64),
            or_dash(candidate.egress_usd, |usd| format!("{usd:.3} USD")),
            candidate.measured.to_string(),
        ]);
    }
    rows
}

/// A note on the quality of the prices.
pub fn mesh_prices(prices: &Prices) -> String {
    match prices.unchecked() {
        (_, 0) => String::new(),
        (all, unchecked) => format!(
            "note: egress at list prices; {unchecked} of {all} prices in the table were not read at the provider \
             (--prices FILE)\n"
        ),
    }
}

/// One test as a line.
pub fn mesh_result(from: &str, to: &str, test: &MeshTest) -> String {
    let mut parts = Vec::new();
    if let Some(rtt) = test.rtt_p50_ns.or(test.rtt_mean_ns) {
        parts.push(format!("RTT {}", format_duration(rtt)));
    }
    if let Some(rate) = test.tcp_bps {
        parts.push(format!("TCP {}", format_rate(rate)));
    }
    if let (Some(streams), Some(rate)) = (test.tcp_streams, test.tcp_streams_bps) {
        parts.push(format!("{} with {streams}", format_rate(rate)));
    }
    if let Some(loss) = test.udp_loss {
        parts.push(format!("UDP loss {}", crate::units::format_percent(loss)));
    }
    if let Some(jitter) = test.udp_jitter_ns {
        parts.push(format!("jitter {}", format_duration(jitter)));
    }
    if let Some(mtu) = test.details["path_mtu"]["forward"]["path_mtu"].as_u64() {
        parts.push(format!("path MTU {mtu}"));
    }
    let over = match Over::of(&test.details) {
        Over::Private => " over private addresses",
        Over::Public => "",
    };
    format!("{from} -> {to}{over}: {}", parts.join(", "))
}
