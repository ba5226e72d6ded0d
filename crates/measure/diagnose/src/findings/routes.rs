//! How many routes the flows take, and which flow is on which.

use crate::analysis::route_classes::{RouteClass, classes};
use crate::analysis::{Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::words::{flows_with_ports, letter, list, rows_of, time, way};

/// The finding, from the test that tells the most routes apart; of several such, the one with the most flows.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    let variation = |index, step: &Step| {
        let explained = steps.is_limited(index) || step.lost_on_host();
        (!explained).then_some(steps.variation)
    };
    let seen = steps
        .steps
        .iter()
        .enumerate()
        .filter(|(_, step)| step.flow_count() > 1);
    let (step, routes) = seen
        .map(|(index, step)| (step, classes(step, variation(index, step))))
        .max_by_key(|(step, routes)| (routes.len(), step.flow_count()))?;
    Some(if routes.len() > 1 {
        several(step, &routes)
    } else {
        one(step)
    })
}

fn several(step: &Step, routes: &[RouteClass]) -> Finding {
    let count = routes.len();
    let lines: Vec<String> = routes
        .iter()
        .enumerate()
        .map(|(index, route)| {
            let above = match route.level_ns {
                level if level > 0.0 => format!(", {} longer", time(level)),
                _ => String::new(),
            };
            format!(
                "route {} carries {}{above}",
                letter(index),
                flows_with_ports(step.test, &route.flows)
            )
        })
        .collect();
    Finding {
        name: FindingName::Routes,
        severity: Severity::Information,
        direction: Some(step.test.direction),
        brief: format!(
            "{} flows take at least {count} routes{}",
            step.flow_count(),
            way(step.test.direction)
        ),
        sentence: format!(
            "the {} flows take at least {count} routes{}: {}.",
            step.flow_count(),
            way(step.test.direction),
            lines.join("; ")
        ),
        evidence: evidence(step, routes),
        query: query(step),
        confidence: confidence(step),
        action: format!(
            "Use several times as many flows as routes ({} or more), so that each route carries a part of the media and \
             a broken one affects that part alone.",
            (4 * count).clamp(8, 64)
        ),
    }
}

fn one(step: &Step) -> Finding {
    let within = time((4.0 * step.routes.error_ns).max(10_000.0));
    Finding {
        name: FindingName::Routes,
        severity: Severity::Information,
        direction: Some(step.test.direction),
        brief: format!(
            "one route, or several that look alike{}",
            way(step.test.direction)
        ),
        sentence: format!(
            "all {} flows see the same delay within {within}{} and lose alike: one route, or several that cannot be told \
             apart.",
            step.flow_count(),
            way(step.test.direction)
        ),
        evidence: evidence(step, &classes(step, None)),
        query: query(step),
        confidence: confidence(step),
        action: "Use several flows all the same: routes that look alike may fail one by one.".to_owned(),
    }
}

fn confidence(step: &Step) -> Confidence {
    let test = "gap between the flows' delay levels against their change from second to second (Student's t, \
                Bonferroni), loss by flow (quasi-Poisson), outages counted";
    match step.routes.p_value {
        Some(p_value) => Confidence::by_test(test, p_value),
        None if step.routes.several() => Confidence::by_count(test, 1.0),
        // Routes that loss or outages alone tell apart passed the tests at this p-value.
        None => Confidence::by_count(test, 1.0 - crate::analysis::CHANCE),
    }
}

fn evidence(step: &Step, routes: &[RouteClass]) -> Vec<Evidence> {
    let flows: Vec<usize> = (0..step.flow_count()).collect();
    let on = |flow: usize| {
        let index = routes
            .iter()
            .position(|route| route.flows.contains(&(flow as u16)));
        index.map_or_else(|| "?".to_owned(), letter)
    };
    let ports: Vec<u16> = step.test.flows.iter().map(|flow| flow.port).collect();
    let received: Vec<u64> = step.test.flows.iter().map(|flow| flow.counts.received).collect();
    let smallest = smallest_delays(step);
    let levels: Vec<f64> = routes.iter().map(|route| route.level_ns.round()).collect();
    vec![
        Evidence::of("routes", routes.len()),
        Evidence::of(
            "route of each flow",
            flows.iter().map(|flow| on(*flow)).collect::<Vec<_>>(),
        ),
        Evidence::of("port", ports),
        Evidence::of("packets received", received),
        Evidence::in_unit("smallest delay", smallest, "ns"),
        Evidence::in_unit("delay above route A", levels, "ns"),
        Evidence::in_unit(
            "standard error of a flow's delay",
            step.routes.error_ns.round(),
            "ns",
        ),
    ]
}

/// The smallest delay of each flow, nanoseconds.
pub(crate) fn smallest_delays(step: &Step) -> Vec<Option<i64>> {
    let of_flow = |flow: usize| {
        let slots = step.test.slots.iter();
        let slots = slots.filter(|slot| usize::from(slot.flow) == flow);
        slots.filter_map(|slot| slot.delay).map(|delay| delay.min).min()
    };
    (0..step.flow_count()).map(of_flow).collect()
}

fn query(step: &Step) -> String {
    format!(
        "SELECT flow, port, sum(received) AS \"packets received\", min(owd_min_ns) AS \"smallest delay\" FROM \
         flow_seconds\nWHERE {} GROUP BY flow, port ORDER BY flow",
        rows_of(step.test.run, step.test.direction)
    )
}

/// `flows 1, 3 and 4 (route B)`.
pub(crate) fn named(route: &RouteClass, index: usize) -> String {
    let plural = if route.flows.len() == 1 { "" } else { "s" };
    format!("flow{plural} {} (route {})", list(&route.flows), letter(index))
}
