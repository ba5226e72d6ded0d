//! Whether several flows lose packets in the same short windows of time more often than expected at random. It
//! must not know what a window or a flow is.

use crate::rates::Draw;

/// Maximum number of windows in a block.
pub const BLOCK: usize = 64;
/// Number of random draws.
const DRAWS: u32 = 10_000;
/// Maximum number of blocks; the first ones of a long test are enough.
const MOST_BLOCKS: usize = 60;

/// Result of the test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Coincidence {
    /// Probability of as many coincidences if flows lost independently of each other.
    pub p_value: f64,
    /// Pairs of flows that lost in the same window.
    pub pairs: u64,
    /// Expected number of pairs for independent losses.
    pub expected: f64,
}

/// Tests coincidences by random draws (with a fixed seed): in each block every flow keeps its number of windows with
/// loss, at random places, so that a loss that changes more slowly than a block lasts is not taken for coincidence. A
/// block is up to [`BLOCK`] windows in a row, each with the flows that lost in it. None where no block has two flows with
/// losses.
pub fn coincidence(blocks: &[Vec<Vec<u16>>]) -> Option<Coincidence> {
    let used: Vec<&Vec<Vec<u16>>> = blocks
        .iter()
        .filter(|block| block.len() <= BLOCK && !windows_by_flow(block).is_empty())
        .take(MOST_BLOCKS)
        .collect();
    let counts: Vec<(usize, Vec<u32>)> = used
        .iter()
        .map(|block| (block.len(), windows_by_flow(block)))
        .collect();
    if !counts.iter().any(|(_, flows)| flows.len() > 1) {
        return None;
    }
    let pairs: u64 = used
        .iter()
        .flat_map(|block| block.iter())
        .map(|window| pairs_of(window.len() as u64))
        .sum();
    let expected = counts
        .iter()
        .map(|(windows, flows)| expected_pairs(*windows, flows))
        .sum();
    let mut draw = Draw::new(0xc0_1c1d);
    let mut as_many = 0;
    for _ in 0..DRAWS {
        let drawn: u64 = counts
            .iter()
            .map(|(windows, flows)| drawn_pairs(*windows, flows, &mut draw))
            .sum();
        as_many += u32::from(drawn >= pairs);
    }
    Some(Coincidence {
        p_value: f64::from(as_many + 1) / f64::from(DRAWS + 1),
        pairs,
        expected,
    })
}

fn pairs_of(flows: u64) -> u64 {
    flows * flows.saturating_sub(1) / 2
}

/// Number of windows with loss per flow, for the flows with loss.
fn windows_by_flow(block: &[Vec<u16>]) -> Vec<u32> {
    let mut counts = std::collections::BTreeMap::new();
    for flow in block.iter().flatten() {
        *counts.entry(*flow).or_insert(0) += 1;
    }
    counts
        .into_values()
        .map(|count: u32| count.min(block.len() as u32))
        .collect()
}

fn expected_pairs(windows: usize, flows: &[u32]) -> f64 {
    let sum: f64 = flows.iter().map(|count| f64::from(*count)).sum();
    let squares: f64 = flows.iter().map(|count| f64::from(*count).powi(2)).sum();
    (sum * sum - squares) / 2.0 / windows as f64
}

fn drawn_pairs(windows: usize, flows: &[u32], draw: &mut Draw) -> u64 {
    let mut losing = [0_u64; BLOCK];
    for count in flows {
        let mut places: [usize; BLOCK] = std::array::from_fn(|place| place);
        for taken in 0..*count as usize {
            let other = taken + draw.below((windows - taken) as u64) as usize;
            places.swap(taken, other);
            losing[places[taken]] += 1;
        }
    }
    losing.into_iter().map(pairs_of).sum()
}
