//! The same routes in several tests. Ports may differ between tests, and clocks do; what stays is how much longer one
//! route is than another.

use super::Step;

/// Levels of two tests are the same route if they differ by less than this, or by this share of them.
const SAME_LEVEL_NS: f64 = 5_000.0;
const SAME_LEVEL: f64 = 0.1;

/// A route as it is seen in several tests.
#[derive(Clone, Debug)]
pub(crate) struct SeenRoute<'s, 'a> {
    /// Mean delay above the lowest, nanoseconds.
    pub level_ns: f64,
    /// Tests that see it, and their flows on it.
    pub parts: Vec<(&'s Step<'a>, Vec<u16>)>,
}

/// Routes by delay over all of these tests. Where some test sees several, those that see one only are left out, since
/// nobody knows which it is; where none does, all flows of all tests take the one.
pub(crate) fn seen_routes<'s, 'a>(steps: &[&'s Step<'a>]) -> Vec<SeenRoute<'s, 'a>> {
    let Some(best) = steps
        .iter()
        .max_by_key(|step| (step.routes.members.len(), step.flow_count()))
    else {
        return Vec::new();
    };
    let known = &best.routes.levels_ns;
    let mut routes: Vec<SeenRoute> = known
        .iter()
        .map(|level_ns| SeenRoute {
            level_ns: *level_ns,
            parts: Vec::new(),
        })
        .collect();
    for step in steps {
        if known.len() > 1 && !step.routes.several() {
            continue;
        }
        for (members, place) in step
            .routes
            .members
            .iter()
            .zip(places(&step.routes.levels_ns, known).unwrap_or_default())
        {
            routes[place].parts.push((step, members.clone()));
        }
    }
    routes
}

/// Which of the known levels each of these is.
fn places(levels: &[f64], known: &[f64]) -> Option<Vec<usize>> {
    // The lowest level of a test need not be the lowest route: its flows may all have missed that one.
    (0..known.len()).find_map(|lowest| {
        let place = |level: &f64| {
            let near = |reference: &f64| {
                (reference - known[lowest] - level).abs() < SAME_LEVEL_NS + SAME_LEVEL * level
            };
            known.iter().position(near)
        };
        let found: Vec<usize> = levels.iter().map(place).collect::<Option<_>>()?;
        found.windows(2).all(|pair| pair[0] < pair[1]).then_some(found)
    })
}
