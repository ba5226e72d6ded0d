//! Which ports decide on the route of a flow: a test whose flows differ in their source port alone, beside those whose flows
//! differ in their destination port alone.

use crate::analysis::route_classes::{RouteClass, classes};
use crate::analysis::{CHANCE, Step, Steps};
use crate::finding::{Confidence, Evidence, Finding, FindingName, Severity};
use crate::findings::routes::smallest_delays;
use crate::words::{rows_of_runs, way};

/// Tests whose flows differ in one port.
struct Varied<'s, 'a> {
    /// The tests and the routes that each tells apart.
    tests: Vec<(&'s Step<'a>, Vec<RouteClass>)>,
}

/// What is known of a port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Port {
    /// It decides on the route.
    Hashed,
    /// It does not.
    Ignored,
    /// Too few flows differed in it.
    Unknown,
}

impl<'s, 'a> Varied<'s, 'a> {
    fn of(steps: &'s Steps<'a>, tests: impl Iterator<Item = &'s Step<'a>>) -> Self {
        // What a limit takes says nothing of routes.
        let variation = steps.limit.is_none().then_some(steps.variation);
        let seen = tests.filter(|step| step.flow_count() > 1).map(|step| {
            let variation = variation.filter(|_| !step.lost_on_host());
            (step, classes(step, variation))
        });
        Varied {
            tests: seen.collect(),
        }
    }

    /// The test that tells the most routes apart.
    fn widest(&self) -> Option<&(&'s Step<'a>, Vec<RouteClass>)> {
        self.tests
            .iter()
            .max_by_key(|(step, routes)| (routes.len(), step.flow_count()))
    }

    fn routes(&self) -> usize {
        self.widest().map_or(0, |(_, routes)| routes.len())
    }

    /// Probability that the flows of every test take one route, were they spread over these by a hash.
    fn chance_of_one(&self, routes: &[RouteClass]) -> f64 {
        let all = routes.iter().map(|route| route.flows.len()).sum::<usize>() as f64;
        let on_one = |(step, _): &(&Step, Vec<RouteClass>)| {
            let share = |route: &RouteClass| (route.flows.len() as f64 / all).powf(step.flow_count() as f64);
            routes.iter().map(share).sum::<f64>()
        };
        self.tests.iter().map(on_one).product()
    }

    /// What these tests show about their port, and the probability of a wrong answer where it is ignored; `other` are
    /// those of the other port.
    fn port(&self, other: &Varied) -> (Port, f64) {
        if self.routes() > 1 {
            return (Port::Hashed, 0.0);
        }
        let routes = other.widest().filter(|(_, routes)| routes.len() > 1);
        let chance = routes.map_or(1.0, |(_, routes)| self.chance_of_one(routes));
        let known = if chance < CHANCE {
            Port::Ignored
        } else {
            Port::Unknown
        };
        (known, chance)
    }

    fn flows(&self) -> Vec<usize> {
        self.tests.iter().map(|(step, _)| step.flow_count()).collect()
    }
}

/// The finding, where both ports were varied.
pub(crate) fn find(steps: &Steps) -> Option<Finding> {
    let source = Varied::of(steps, steps.by_source_port.iter());
    let destination = Varied::of(steps, steps.steps.iter());
    let mut widest = [source.widest()?.0, destination.widest()?.0];
    let most = widest[0].flow_count();
    widest.sort_by_key(|step| step.test.run);
    let (by_source, wrong_source) = source.port(&destination);
    let (by_destination, wrong_destination) = destination.port(&source);
    let said = say(by_source, by_destination);
    let way = way(steps.direction);
    let p_value = match (by_source, by_destination) {
        (Port::Ignored, _) => Some(wrong_source),
        (_, Port::Ignored) => Some(wrong_destination),
        _ => None,
    };
    let test = "routes by delay and loss of flows that differ in one port; probability that all flows take one route were \
                that port hashed";
    Some(Finding {
        name: FindingName::HashedPorts,
        severity: Severity::Information,
        direction: Some(steps.direction),
        brief: format!("{}{way}", said.brief),
        sentence: format!(
            "{}{way}: {most} flows that differ in their source port take {}, flows that differ in their destination port {}.",
            said.brief,
            in_words(source.routes()),
            in_words(destination.routes())
        ),
        evidence: vec![
            Evidence::of(
                "routes of flows that differ in their source port",
                source.routes(),
            ),
            Evidence::of("flows of that test", source.flows()),
            Evidence::of(
                "most routes of flows that differ in their destination port",
                destination.routes(),
            ),
            Evidence::of("flows of those tests", destination.flows()),
            Evidence::in_unit("smallest delay", widest.map(smallest_delays).concat(), "ns"),
        ],
        query: format!(
            "SELECT run_id, flow, min(owd_min_ns) AS \"smallest delay\" FROM flow_seconds\nWHERE {} GROUP BY run_id, flow ORDER \
             BY run_id, flow",
            rows_of_runs(&widest.map(|step| step.test.run), steps.direction)
        ),
        confidence: match p_value {
            Some(p_value) => Confidence::by_test(test, p_value),
            None => Confidence::by_count(test, 1.0 - CHANCE),
        },
        action: said.action.to_owned(),
    })
}

fn in_words(routes: usize) -> String {
    match routes {
        1 => "one route, or several that look alike".to_owned(),
        routes => format!("at least {routes} routes"),
    }
}

struct Said {
    brief: &'static str,
    action: &'static str,
}

fn say(source: Port, destination: Port) -> Said {
    match (source, destination) {
        (Port::Hashed, Port::Hashed) => Said {
            brief: "source port and destination port both decide on the route of a flow",
            action: "Flows spread over the routes whichever port differs.",
        },
        (Port::Hashed, Port::Ignored) => Said {
            brief: "the source port decides on the route of a flow, the destination port does not",
            action: "Give each flow a source port of its own ('weir send --source-ports'): flows that differ in their destination \
                     port alone share one route.",
        },
        (Port::Hashed, Port::Unknown) => Said {
            brief: "the source port decides on the route of a flow; of the destination port nothing is known",
            action: "Give each flow a source port of its own ('weir send --source-ports').",
        },
        (Port::Ignored, Port::Hashed) => Said {
            brief: "the destination port decides on the route of a flow, the source port does not",
            action: "Give each flow a destination port of its own, as 'weir send' does.",
        },
        (Port::Unknown, Port::Hashed) => Said {
            brief: "the destination port decides on the route of a flow; of the source port nothing is known",
            action: "Give each flow a destination port of its own, as 'weir send' does.",
        },
        _ => Said {
            brief: "cannot tell which ports decide on the route of a flow: all flows look alike",
            action: "More flows may share one route: do not rely on them to survive the failure of a route, unless another \
                     survey tells routes apart.",
        },
    }
}
