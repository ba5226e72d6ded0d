//! Loss that differs between routes, or between flows whose routes delay does not tell apart.

use weir_results::RunId;
use weir_stats::{Counted, binomial_at_least, equal_rates, equal_rates_among, total};
use weir_units::{format_duration, format_percent};

use super::routes::named;
use super::severity_of_loss;
use crate::analysis::route_classes::{RouteClass, classes};
use crate::analysis::seen_routes::{SeenRoute, seen_routes};
use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{self, letter, loss, rows_of_runs, time, way};

/// p-values below which loss of the slower of two routes is believed, and any other difference: together 2 %.
const SLOWER: f64 = 0.016;
const ANY: f64 = 0.003;
/// Losses that all fall on one of two equal routes with a probability below 2 %.
const TELLING: f64 = 7.0;
/// A route over all tests that see it.
struct Route {
    level_ns: f64,
    /// Loss events, one entry for each test and slot of time.
    events: Vec<Counted>,
    packets: Counted,
}

/// The finding, where there is loss and several flows.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    by_route(steps).or_else(|| by_flow(steps))
}

/// The tests that no limit took packets of, of payloads that are not too long.
fn tests<'s, 'a>(steps: &'s Steps<'a>) -> impl Iterator<Item = &'s Step<'a>> {
    let longest = steps.long.map_or(u32::MAX, |long| long.longest_good);
    let tests = steps.plain().chain(steps.below_limit());
    tests.filter(move |step| step.test.payload <= longest)
}

/// Loss by the delay level of the route, over all tests that see the same levels.
fn by_route(steps: &Steps) -> Option<Finding> {
    let tests: Vec<&Step> = tests(steps).collect();
    let seen = seen_routes(&tests);
    let best = tests
        .iter()
        .max_by_key(|step| (step.routes.members.len(), step.flow_count()))?;
    if seen.len() < 2 {
        return None;
    }
    let routes: Vec<Route> = seen.iter().map(Route::of).collect();
    let rows = rows_of(&seen);
    let all = routes
        .iter()
        .fold(Counted::default(), |sum, route| sum.plus(route.packets));
    if all.events == 0 {
        return None;
    }
    let (p_value, chance, test) = test_of(&routes)?;
    Some(describe(best, &routes, &rows, p_value, p_value < chance, test))
}

/// Run, flow, route and packets lost.
type Row = (RunId, u16, String, u64);

impl Route {
    fn of(seen: &SeenRoute) -> Self {
        let mut route = Route {
            level_ns: seen.level_ns,
            events: Vec::new(),
            packets: Counted::default(),
        };
        for (step, members) in &seen.parts {
            let of = |flow: &u16| usize::from(*flow);
            for slot in 0..step.events.first().map_or(0, Vec::len) {
                let counts: Vec<Counted> = members.iter().map(|flow| step.events[of(flow)][slot]).collect();
                route.events.push(total(&counts));
            }
            let counts: Vec<Counted> = members.iter().map(|flow| step.flow_loss[of(flow)]).collect();
            route.packets = route.packets.plus(total(&counts));
        }
        route
    }
}

/// The flows of all tests, as the query gives them.
fn rows_of(seen: &[SeenRoute]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (index, route) in seen.iter().enumerate() {
        for (step, members) in &route.parts {
            let row = |flow: &u16| {
                (
                    step.test.run,
                    *flow,
                    letter(index),
                    step.test.flows[usize::from(*flow)].counts.lost,
                )
            };
            rows.extend(members.iter().map(row));
        }
    }
    rows.sort();
    rows
}

/// p-value of equal loss, the p-value below which a difference is believed, and the test's name.
fn test_of(routes: &[Route]) -> Option<(f64, f64, &'static str)> {
    let events: Vec<Vec<Counted>> = routes.iter().map(|route| route.events.clone()).collect();
    let equal = equal_rates(&events)?;
    let any = (
        equal.p_value,
        ANY,
        "test of equal loss on all routes (quasi-Poisson; exact where few packets were lost)",
    );
    if let [fast, slow] = routes
        && equal.p_value >= ANY
    {
        let (fast, slow) = (total(&fast.events), total(&slow.events));
        let share = slow.trials as f64 / (slow.trials + fast.trials).max(1) as f64;
        let one_sided = binomial_at_least(slow.events, slow.events + fast.events, share);
        // The variation in time makes this many events worth fewer.
        if equal.dispersion < 2.0 && one_sided < SLOWER {
            return Some((
                one_sided,
                SLOWER,
                "exact binomial test that the slower route loses no more than its share",
            ));
        }
    }
    Some(any)
}

fn describe(best: &Step, routes: &[Route], rows: &[Row], p_value: f64, sure: bool, test: &str) -> Finding {
    let runs: Vec<RunId> = rows.iter().map(|row| row.0).collect();
    let worst = routes
        .iter()
        .map(|route| route.packets.rate())
        .fold(0.0, f64::max);
    let shares: Vec<String> = routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            let above = if index == 0 {
                String::new()
            } else {
                format!(", {} longer", time(route.level_ns))
            };
            format!("route {}{above}: {}", letter(index), loss(route.packets))
        })
        .collect();
    let clean = routes.iter().filter(|route| route.packets.events == 0).count();
    let begin = match (sure, routes.len(), clean) {
        (true, 2, 1) => "two routes, loss on one".to_owned(),
        (true, count, _) => format!("{count} routes that lose unequally"),
        (false, count, _) => {
            format!("{count} routes, too few lost packets to tell whether one loses more")
        }
    };
    let mut sentence = format!(
        "{begin}{}: {}. {}",
        way(best.test.direction),
        shares.join("; "),
        reach(routes, best)
    );
    if !sure {
        sentence.push_str(&format!(
            " Routes with equal loss give a split as uneven in {} of tests.",
            format_percent(p_value)
        ));
    }
    let counts = |of: &dyn Fn(&Route) -> u64| routes.iter().map(of).collect::<Vec<u64>>();
    Finding {
        name: FindingName::RouteLoss,
        severity: if sure {
            severity_of_loss(worst)
        } else {
            Severity::Information
        },
        direction: Some(best.test.direction),
        brief: brief(routes, sure, way(best.test.direction)),
        sentence,
        evidence: vec![
            Evidence::of(
                "packets lost on each route",
                counts(&|route| route.packets.events),
            ),
            Evidence::of(
                "packets sent on each route",
                counts(&|route| route.packets.trials),
            ),
            Evidence::of(
                "run_id and flow of each row",
                rows.iter()
                    .map(|row| format!("{} {}", row.0, row.1))
                    .collect::<Vec<_>>(),
            ),
            Evidence::of(
                "route of each row",
                rows.iter().map(|row| row.2.clone()).collect::<Vec<_>>(),
            ),
            Evidence::of("packets lost", rows.iter().map(|row| row.3).collect::<Vec<_>>()),
        ],
        query: format!(
            "SELECT run_id, flow, sum(lost) AS \"packets lost\" FROM flow_seconds WHERE {}\nGROUP BY run_id, flow ORDER BY \
             run_id, flow",
            rows_of_runs(&runs, best.test.direction)
        ),
        confidence: Confidence::by_test(test, p_value),
        action: action(sure),
    }
}

fn brief(routes: &[Route], sure: bool, way: &str) -> String {
    let rates = routes.iter().map(|route| route.packets.rate()).enumerate();
    match rates.max_by(|a, b| a.1.total_cmp(&b.1)) {
        Some((index, rate)) if sure => {
            format!(
                "route {} loses {} of its packets{way}",
                letter(index),
                format_percent(rate)
            )
        }
        _ => format!(
            "{} routes{way}, too few lost packets to compare them",
            routes.len()
        ),
    }
}

fn action(sure: bool) -> String {
    if sure {
        "Assign packets to flows at random: the loss of one route becomes a low, even loss of the stream, which little FEC \
         repairs. Or leave out the ports of the flows that lose, and check that they stay the same."
            .to_owned()
    } else {
        "Run 'weir flows' for longer before leaving any flow out.".to_owned()
    }
}

/// Which difference this test could have seen, and how long a test has to be for a smaller one.
fn reach(routes: &[Route], best: &Step) -> String {
    let fewest = routes
        .iter()
        .map(|route| route.packets.trials)
        .min()
        .unwrap_or(0)
        .max(1) as f64;
    let seen = TELLING / fewest;
    let packets_per_ns = best.test.sent as f64 / best.test.active_ns.max(1) as f64 / routes.len() as f64;
    let for_millionth = TELLING / 1e-6 / packets_per_ns;
    format!(
        "This much traffic shows a difference between two routes of {} or more; {} at this rate show one of 0.0001 %.",
        format_percent(seen),
        format_duration(for_millionth as u64)
    )
}

/// Loss by flow in the single test that shows the clearest difference, where delays tell no routes apart.
fn by_flow(steps: &Steps) -> Option<Finding> {
    let candidates: Vec<&Step> = tests(steps).filter(|step| step.flow_count() > 1).collect();
    let (step, p_value) = candidates
        .iter()
        .filter_map(|step| Some((*step, equal_rates_among(&step.events, steps.variation)?.p_value)))
        .min_by(|a, b| a.1.total_cmp(&b.1))?;
    let p_value = (p_value * candidates.len() as f64).min(1.0);
    let routes = classes(step, Some(steps.variation));
    if p_value >= ANY || routes.len() < 2 {
        return None;
    }
    let lossy = routes.iter().map(|route| route.loss.rate()).fold(0.0, f64::max);
    let shares: Vec<String> = routes
        .iter()
        .enumerate()
        .map(|(index, route)| format!("{} lost {}", named(route, index), loss(route.loss)))
        .collect();
    let counts = |of: &dyn Fn(&RouteClass) -> u64| routes.iter().map(of).collect::<Vec<u64>>();
    let by_flow: Vec<u64> = step.test.flows.iter().map(|flow| flow.counts.lost).collect();
    Some(Finding {
        name: FindingName::RouteLoss,
        severity: severity_of_loss(lossy),
        direction: Some(step.test.direction),
        brief: format!(
            "flows lose unequally{}: up to {} on one route",
            way(step.test.direction),
            format_percent(lossy)
        ),
        sentence: format!(
            "the flows lose unequally{}, so they take different routes: {}.",
            way(step.test.direction),
            shares.join("; ")
        ),
        evidence: vec![
            Evidence::of("packets lost on each route", counts(&|route| route.loss.events)),
            Evidence::of("packets sent on each route", counts(&|route| route.loss.trials)),
            Evidence::of("packets lost", by_flow),
        ],
        query: format!(
            "SELECT flow, port, sum(lost) AS \"packets lost\" FROM flow_seconds WHERE {} GROUP BY flow, port ORDER BY flow",
            words::rows_of(step.test.run, step.test.direction)
        ),
        confidence: Confidence::by_test(
            "test of equal loss on all flows (quasi-Poisson; exact where few packets were lost; Bonferroni over the tests)",
            p_value,
        ),
        action: action(true),
    })
}
