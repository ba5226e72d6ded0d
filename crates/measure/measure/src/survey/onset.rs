//! At which rate loss begins, and which rate to try next: a cap, a policer or a full link loses nothing below its rate.
//! Pure; it must not know what limits a path.

use serde::{Deserialize, Serialize};
use weir_units::Rate;

use super::hidden_cliff::HiddenCliff;
use super::{MOST_FURTHER_STEPS, Step, Survey, carried_length};
use crate::VideoFormat;
use crate::flows::{DirectionSummary, FlowsPlan, FlowsWays, HostLimit};

/// Bursts of these tests: those of `weir send`, since a frame in one burst overflows the bucket of a policer far below its
/// rate, bytes.
const BURST_BYTES: u32 = 33_000;
/// Less loss is no sign of a limit.
const LEAST_LOSS: f64 = 0.02;
/// A test without the loss of a limit loses at most this share of what the fastest loses, and at most so much.
const EASED_SHARE: f64 = 0.35;
const EASED_LOSS: f64 = 0.02;
/// Tests beside the one that loses least count as carried up to twice its loss and so much more.
const SLACK: f64 = 0.005;
/// Loss that keeps this share at the next lower rate does not depend on the rate.
const SAME: f64 = 0.7;
/// The first test is made at this share of what came through.
const BELOW: f64 = 0.9;
/// The next ones at this much above and below what came through.
const BESIDE: f64 = 1.02;
/// Rates whose ratio is smaller are close enough.
const CLOSE: f64 = 1.05;
/// Rates whose ratio is larger say nothing about a limit between them.
const WIDE: f64 = 1.25;
/// What comes through a limit differs from its rate by at most this share: queues and buckets take some.
const AGREE: f64 = 0.05;
/// A limit lets through less than this share of longer bursts where they overflow its bucket.
const CUT: f64 = 0.9;
/// A limit on packets takes some of payloads that are shorter by this factor, where it takes nothing of others at the same rate.
const SHORTER: f64 = 1.1;
/// Short bursts are sent at this share of the rate of longer ones that lose, to see whether they lose as well: so much lower that it counts as another rate.
const SLIGHTLY_LOWER: f64 = 0.985;
/// Slower tests than this share of the fastest say nothing about it.
const LOWEST_SHARE: f64 = 0.01;

/// The rate at which loss begins, of tests of equal flows and payload.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossOnset {
    /// Flows.
    pub flows: u16,
    /// UDP payload bytes.
    pub length: u32,
    /// Highest rate without the loss, UDP payload.
    pub carried: Rate,
    /// Lowest rate with it, UDP payload.
    pub lossy: Rate,
    /// Loss at that rate, 0 to 1.
    pub loss: f64,
}

impl LossOnset {
    /// Of tests of equal flows and payload at different rates; none where their loss is not that of a limit on the rate.
    pub fn of(rows: &[&DirectionSummary]) -> Option<Self> {
        let first = rows.first()?;
        let (low, high) = Tried::all(rows)?.bracket()?;
        Some(LossOnset {
            flows: first.flows,
            length: first.length,
            carried: Rate(low.asked.round() as u64),
            lossy: Rate(high.asked.round() as u64),
            loss: high.loss,
        })
    }

    /// Whether a test that lost this share passed below the limit that a faster one met, which lost that.
    pub fn is_below(loss: f64, of_faster: f64) -> bool {
        loss <= EASED_LOSS.min(EASED_SHARE * of_faster)
    }
}

/// A test at a rate.
#[derive(Clone, Copy, Debug)]
struct At {
    /// Bits per second of UDP payload.
    asked: f64,
    loss: f64,
    /// Bytes sent back to back.
    burst: u64,
}

/// Tests that differ in their rate, the slowest first.
struct Tried(Vec<At>);

impl Tried {
    /// None where a host did not keep up with one of them, or there is none.
    fn all(rows: &[&DirectionSummary]) -> Option<Self> {
        let at = |row: &&DirectionSummary| {
            let asked = row.asked.filter(|_| tells(row))?.0 as f64;
            Some(At {
                asked,
                loss: row.loss,
                burst: u64::from(row.burst) * u64::from(row.length),
            })
        };
        let mut tried: Vec<At> = rows.iter().map(at).collect::<Option<_>>()?;
        tried.sort_by(|a, b| a.asked.total_cmp(&b.asked));
        (!tried.is_empty()).then_some(Tried(tried))
    }

    fn fastest(&self) -> At {
        // There is one at least.
        self.0[self.0.len() - 1]
    }

    fn least_loss(&self) -> f64 {
        self.0.iter().map(|at| at.loss).fold(1.0, f64::min)
    }

    /// The fastest test loses, and some other test loses much less.
    fn is_eased(&self) -> bool {
        let (least, most) = (self.least_loss(), self.fastest().loss);
        most >= LEAST_LOSS && LossOnset::is_below(least, most)
    }

    /// The fastest test without the loss and the slowest with it; none where no test is without, or rates and losses
    /// are not in one order.
    fn ends(&self) -> Option<(At, At)> {
        let least = self.least_loss();
        if !self.is_eased() {
            return None;
        }
        let loses = |at: &At| at.loss > 2.0 * least + SLACK;
        let first = self.0.iter().position(loses)?;
        let ordered = self.0[first..].iter().all(loses);
        (ordered && first > 0).then(|| (self.0[first - 1], self.0[first]))
    }

    /// What came through, bits per second, had nothing else been lost.
    fn passed(&self, at: At) -> f64 {
        at.asked * (1.0 - at.loss) / (1.0 - self.least_loss())
    }

    /// The same, where what came through agrees with a limit between them. Longer bursts may overflow the limit's bucket, so that
    /// less comes through.
    fn bracket(&self) -> Option<(At, At)> {
        let (low, high) = self.ends()?;
        let held = |at: &At| {
            let passed = self.passed(*at);
            let is_enough = passed >= low.asked * (1.0 - AGREE) || at.burst > high.burst;
            is_enough && passed <= high.asked * (1.0 + AGREE)
        };
        let mut lossy = self.0.iter().filter(|at| at.asked >= high.asked);
        let is_of_rate = high.burst <= low.burst && high.asked <= WIDE * low.asked;
        (is_of_rate && lossy.all(held)).then_some((low, high))
    }

    /// The rate to try next, bits per second; none where loss does not depend on the rate, or it is known closely enough.
    fn next(&self) -> Option<f64> {
        let (slowest, fastest) = (self.0[0], self.fastest());
        if fastest.loss < LEAST_LOSS {
            return None;
        }
        let Some((low, high)) = self.ends() else {
            let depends = self.0.get(1).is_none_or(|above| slowest.loss < SAME * above.loss);
            let next = BELOW * slowest.asked * (1.0 - slowest.loss);
            let is_useful = depends && !self.is_eased() && next >= LOWEST_SHARE * fastest.asked;
            return is_useful.then_some(next);
        };
        let passed = self.passed(high);
        // More has passed than came through where packets were lost: no limit took those.
        let is_known = high.asked <= CLOSE * low.asked || passed < low.asked * (1.0 - AGREE);
        if is_known && high.burst > low.burst {
            // It may be their length that the longer bursts lose by, and not their rate.
            let same = SLIGHTLY_LOWER * high.asked;
            return (low.asked < 0.995 * same).then_some(same);
        }
        if is_known {
            return None;
        }
        let inside = |rate: &f64| *rate > low.asked * 1.01 && *rate < high.asked / BESIDE;
        let guesses = [passed * BESIDE, passed / BESIDE];
        let middle = (low.asked * high.asked).sqrt();
        Some(guesses.into_iter().find(inside).unwrap_or(middle))
    }
}

/// Hosts kept up with a test, or dropped much less than a limit would take.
fn tells(row: &DirectionSummary) -> bool {
    match row.host_limit() {
        None => true,
        Some(HostLimit::Dropped { share }) => share <= LEAST_LOSS / 2.0,
        Some(_) => false,
    }
}

/// The test whose loss asks for others at lower rates: that of the usual number of flows if it
/// loses, else of the fewest that do; else of the longest payload that loses while longer ones pass.
fn first_of<'f>(rows: &[&'f DirectionSummary], usual: u16, carried: u32) -> Option<&'f DirectionSummary> {
    let loses = |row: &&&DirectionSummary| row.loss >= LEAST_LOSS && tells(row);
    let of_length = rows.iter().filter(|row| row.length == carried).filter(loses);
    let by_flows = of_length.min_by_key(|row| (row.flows != usual, row.flows));
    let shorter = rows.iter().filter(|row| row.length < carried).filter(loses);
    by_flows.or_else(|| shorter.max_by_key(|row| row.length)).copied()
}

impl Survey {
    /// The tests of the sweeps and those at other rates that are comparable with the one whose loss asks for them.
    fn rates_tried(&self) -> Option<Vec<&DirectionSummary>> {
        let found = &self.found;
        let carried = carried_length(&found.by_length)?;
        let rows: Vec<&DirectionSummary> = found.by_length.iter().chain(&found.by_flows).collect();
        let first = first_of(&rows, self.usual_flows(), carried)?;
        let others = found.by_rate.iter();
        let others = others.filter(|row| (row.flows, row.length) == (first.flows, first.length));
        Some([first].into_iter().chain(others).collect())
    }

    /// The rate at which loss begins, if it begins at one.
    pub(super) fn onset(&self) -> Option<LossOnset> {
        LossOnset::of(&self.rates_tried()?)
    }

    /// The rate that is known to pass, and a shorter payload that may not: a limit whose bucket is smaller than the bursts of the sweeps lets
    /// through as much of each burst, whatever it holds, so that these do not tell bits from packets.
    fn shorter(&self, tried: &Tried, first: &DirectionSummary) -> Option<(f64, u32)> {
        let (low, _) = tried.bracket()?;
        let (fastest, found) = (tried.fastest(), &self.found);
        let is_cut = fastest.burst > low.burst && tried.passed(fastest) < CUT * low.asked;
        let is_known = found.by_rate.iter().any(|row| row.length < first.length);
        let lossy = found.by_length.iter().filter(|row| row.loss >= LEAST_LOSS);
        let length = lossy.map(|row| row.length).min()?;
        let is_shorter = f64::from(first.length) >= SHORTER * f64::from(length);
        (is_cut && is_shorter && !is_known && first.flows == self.usual_flows())
            .then_some((low.asked, length))
    }

    /// A rate and a shorter payload that tell whether long ones are lost by their length, where slow tests lose, too.
    fn unhidden(&self, tried: &Tried, first: &DirectionSummary) -> Option<(f64, u32)> {
        let slowest = tried.0[0];
        let is_asked = tried.0.len() > 1 && slowest.loss >= LEAST_LOSS && first.flows == self.usual_flows();
        let of_first = self.found.by_rate.iter().filter(|row| row.length == first.length);
        let slowest_row = of_first.min_by_key(|row| row.asked).filter(|_| is_asked)?;
        let is_shorter = |row: &&DirectionSummary| row.length < first.length;
        let hidden = HiddenCliff {
            slowest: slowest_row,
            sweep: self.found.by_length.iter().filter(is_shorter).collect(),
            slow: self.found.by_rate.iter().filter(is_shorter).collect(),
        };
        let most = 2 * MOST_FURTHER_STEPS;
        let (length, at_media_rate) = hidden
            .next()
            .filter(|_| self.cliff_steps + self.rate_steps < most)?;
        // Slow ones have as many packets per second, since a limit may be one on these.
        let rate = if at_media_rate {
            self.plan.format.rate().0 as f64
        } else {
            slowest.asked * f64::from(length) / f64::from(first.length)
        };
        Some((rate, length))
    }

    /// After the forward sweeps, queues a step at a rate at which loss may begin.
    pub(super) fn approach_onset(&mut self, duration_ns: u64) {
        let of_sweeps = |step: &Step| match step {
            Step::Flows(plan) => plan.ways == FlowsWays::Forward,
            _ => false,
        };
        if self.steps.iter().any(of_sweeps) {
            return;
        }
        let next = self.rates_tried().and_then(|rows| {
            let tried = Tried::all(&rows)?;
            let first = rows.first()?;
            let more = tried.next().filter(|_| self.rate_steps < MOST_FURTHER_STEPS);
            let same = more.map(|rate| (rate, first.length));
            let shorter = || {
                self.shorter(&tried, first)
                    .or_else(|| self.unhidden(&tried, first))
            };
            let (rate, length) = same.or_else(shorter)?;
            let media = self.plan.format;
            let plan = FlowsPlan {
                format: if rate >= media.rate().0 as f64 {
                    media
                } else {
                    VideoFormat::of_rate(Rate(rate as u64), media.frame_rate)
                },
                flows: first.flows,
                length,
                burst: Some((BURST_BYTES / length.max(1)).max(1)),
                duration_ns,
                ..FlowsPlan::default()
            };
            Some(plan.with_bursts_of_media())
        });
        let media = self.plan.format;
        // A rate that hosts do not keep up with is no media rate.
        let is_held =
            |next: &FlowsPlan| next.format != media || self.held.lowered(next, media.rate()).format == media;
        if let Some(next) = next.filter(|next| is_held(next) && self.has_volume_for(next)) {
            self.rate_steps += 1;
            self.steps.push_front(Step::Flows(next));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries rates from `media` on over a path that loses this at a rate, each within what a survey may try.
    fn search(media: f64, loss: impl Fn(f64) -> f64) -> (Tried, usize) {
        let at = |asked| At {
            asked,
            loss: loss(asked),
            burst: u64::from(BURST_BYTES),
        };
        let mut tried = Tried(vec![at(media)]);
        for made in 0..=MOST_FURTHER_STEPS as usize {
            let Some(next) = tried.next() else {
                return (tried, made);
            };
            tried.0.push(at(next));
            tried.0.sort_by(|a, b| a.asked.total_cmp(&b.asked));
        }
        panic!("more than {MOST_FURTHER_STEPS} steps: {:?}", tried.0)
    }

    #[test]
    fn a_limit_is_found_to_within_five_per_cent_whatever_else_is_lost() {
        for limit in [40e6, 150e6, 400e6, 700e6, 900e6, 930e6] {
            for everywhere in [0.0, 0.001, 0.01] {
                // A queue takes some of what is too much, for as long as a test lasts.
                for queue in [0.0, 0.01, 0.03] {
                    let through = limit * (1.0 + queue);
                    let (tried, _) = search(1e9, |rate| 1.0 - (1.0 - everywhere) * (through / rate).min(1.0));
                    let (low, high) = tried.bracket().expect("a limit");
                    assert!(low.asked <= through * 1.02 && high.asked >= through, "{limit}");
                    assert!(high.asked <= CLOSE * low.asked, "{limit}: {:?}", tried.0);
                }
            }
        }
    }

    #[test]
    fn loss_that_does_not_depend_on_the_rate_costs_one_step_and_has_no_onset() {
        for loss in [0.02, 0.05, 0.4] {
            let (tried, made) = search(1e9, |_| loss);
            assert_eq!(made, 1);
            assert!(tried.bracket().is_none());
        }
        let (tried, made) = search(1e9, |_| 0.01);
        assert_eq!((made, tried.bracket().is_none()), (0, true));
    }

    #[test]
    fn what_a_bucket_takes_of_longer_bursts_says_nothing_of_its_rate() {
        let (mut tried, _) = search(1e9, |rate| 1.0 - (9e8 / rate).min(1.0));
        let found = tried.bracket().expect("a limit");
        let fastest = tried.0.len() - 1;
        tried.0[fastest].loss = 0.6;
        assert!(tried.bracket().is_none());
        tried.0[fastest].burst *= 8;
        let (low, high) = tried.bracket().expect("a limit");
        assert_eq!((low.asked, high.asked), (found.0.asked, found.1.asked));
    }

    #[test]
    fn short_bursts_at_nearly_the_same_rate_tell_whether_it_is_the_rate_that_loses() {
        let short = u64::from(BURST_BYTES);
        let at = |asked, loss, burst| At { asked, loss, burst };
        let two = vec![at(9.6e8, 0.0, short), at(1e9, 0.08, 8 * short)];
        let next = Tried(two.clone()).next().expect("a rate");
        assert!((next / 9.85e8 - 1.0).abs() < 1e-9, "{next}");
        // Without that test nothing is known, and it may say that it is not.
        assert!(Tried(two.clone()).bracket().is_none());
        let with = |loss| Tried(vec![two[0], at(next, loss, short), two[1]]);
        assert!(with(0.0).bracket().is_none() && with(0.0).next().is_none());
        let (low, high) = with(0.07).bracket().expect("a limit");
        assert_eq!((low.asked, high.asked), (9.6e8, next));
    }

    #[test]
    fn loss_of_one_test_alone_has_no_onset() {
        // Dark for a third of the test, and never again.
        let (tried, made) = search(1e9, |rate| if rate >= 1e9 { 0.33 } else { 0.0 });
        assert!(made <= 3 && tried.bracket().is_none(), "{:?}", tried.0);
        // Faster tests lose nothing.
        let at = |asked, loss| At {
            asked,
            loss,
            burst: u64::from(BURST_BYTES),
        };
        let tried = Tried(vec![at(5e8, 0.0), at(8e8, 0.1), at(9e8, 0.0), at(1e9, 0.1)]);
        assert!(tried.bracket().is_none());
    }
}
