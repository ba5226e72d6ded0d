//! The answer to "does this path carry my media?": a verdict, the settings, the worst finding, and what the verdict rests
//! on. It must not know how findings and recommendations were made.

mod words;

use serde::{Deserialize, Serialize};
use weir_results::Direction;

use crate::finding::{Finding, FindingName, Recommendation, Recovery, Severity};

pub(crate) use words::lower_rate;

/// Packets below which a run without loss, or with little, answers nothing.
const LEAST_PACKETS: u64 = 10_000;
/// Lost packets from which a run with few packets shows a loss rate all the same.
const TELLING_LOSSES: u64 = 10;
/// Raw loss, 0 to 1, above which no recovery makes a path fit for media, unless a trial shows one.
const MOST_LOSS: f64 = 0.05;
/// Share of the media rate from which a test counts as one at that rate.
const AT_RATE: f64 = 0.99;

/// Whether a path carries the media.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// It does, without recovery.
    Carries,
    /// It does, with FEC or ARQ.
    CarriesWithRepair,
    /// It does not, with any of the settings that were tested.
    DoesNotCarry,
    /// The run does not tell.
    CannotSay,
}

impl Verdict {
    /// The name in JSON and in the results store.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Carries => "carries",
            Verdict::CarriesWithRepair => "carries_with_repair",
            Verdict::DoesNotCarry => "does_not_carry",
            Verdict::CannotSay => "cannot_say",
        }
    }
}

/// The answer that a run gives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// Whether the path carries the media.
    pub verdict: Verdict,
    /// Rate of the media, bits per second; none where the run was made for no rate.
    pub media_rate: Option<u64>,
    /// Name of the format with that rate; none where the rate was given as a number.
    pub media_format: Option<String>,
    /// Settings to use; none where none carried the media.
    pub settings: Option<AnswerSettings>,
    /// The most severe finding that is a notice or a fault.
    pub worst: Option<Worst>,
    /// What the verdict rests on; none without a flow test.
    pub basis: Option<Basis>,
    /// The verdict in a sentence, with the settings or the reason.
    pub sentence: String,
    /// What to do or to measure next, in a sentence.
    pub next: Option<String>,
}

/// Settings that an answer names.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AnswerSettings {
    /// Flows.
    pub flows: u16,
    /// UDP payload, bytes.
    pub payload: u32,
    /// Packets that a flow sends back to back at most; none: as usual.
    pub burst: Option<u32>,
    /// These flows and this payload were tested together.
    pub measured_together: bool,
    /// How lost packets are repaired.
    pub recovery: Recovery,
}

/// The most severe finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// Its code.
    pub name: FindingName,
    /// Its severity.
    pub severity: Severity,
    /// Direction in which it was measured; none where it has none.
    pub direction: Option<Direction>,
    /// What was found, in one line.
    pub brief: String,
}

/// The flow tests that a verdict rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Basis {
    /// Direction of the tests.
    pub direction: Direction,
    /// Number of tests.
    pub tests: u32,
    /// Tests that do not count because a host did not keep up in them and others stand in for them.
    pub left_out: u32,
    /// Their duration together, nanoseconds.
    pub duration_ns: u64,
    /// Rate of the tests with the settings, or else the highest one, bits per second; none for tests without a rate.
    pub rate: Option<u64>,
    /// Lowest rate of a test, bits per second; none for tests without a rate.
    pub lowest_rate: Option<u64>,
    /// Packets sent in them.
    pub packets: u64,
    /// Packets lost in them.
    pub lost: u64,
    /// Those in which the sender did not keep its schedule.
    pub late_tests: u32,
    /// Those in which hosts dropped packets.
    pub host_loss_tests: u32,
    /// The run ended early: its other tests are missing.
    pub interrupted: bool,
    /// Residual loss with the settings, 0 to 1, upper bound (95 %); none where no settings carry the media.
    pub residual_loss: Option<f64>,
    /// Target residual loss, 0 to 1; none as above.
    pub target_loss: Option<f64>,
    /// All of it in a sentence.
    pub sentence: String,
}

/// Whether a test of this rate counts as one at that, bits per second.
pub(crate) fn is_at(tested: Option<u64>, rate: u64) -> bool {
    tested.is_some_and(|tested| tested as f64 >= AT_RATE * rate as f64)
}

/// How a path took the rate that was tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Load {
    /// It carried it.
    Carried,
    /// Every test met a limit on each flow, and more flows were not tested.
    Untried,
    /// It carried it in some tests only.
    AtTimes,
    /// Every test met a limit that no settings avoid.
    TooMuch,
}

/// What the run was about, as far as the answer has to name it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Media {
    /// Its rate, bits per second.
    pub rate: Option<u64>,
    /// The name of its format.
    pub format: Option<String>,
    /// The far host as the user named it.
    pub target: String,
    /// The kind of the run.
    pub kind: String,
    /// It ended early.
    pub interrupted: bool,
}

/// A recommendation, how the path took the rate, and the tests behind both.
#[derive(Clone, Debug)]
pub(crate) struct Recommended {
    pub recommendation: Recommendation,
    pub load: Load,
    /// Where it is too much: what the path carries, bits per second.
    pub carried: Option<u64>,
    pub basis: Basis,
}

/// Why there is no verdict, or a bad one.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reason {
    /// The path carries the media.
    None,
    NoFlowTest,
    NoRate,
    AlwaysLate,
    HostLoss,
    FewPackets,
    Untried,
    /// Carried, at this lower rate.
    LowerRate(u64),
    AtTimes,
    TooMuch,
    TooLossy,
    Residual,
}

/// The answer.
pub(crate) fn answer(media: Media, findings: &[Finding], recommended: Option<&Recommended>) -> Answer {
    let (verdict, reason) = judge(&media, recommended);
    let settings = recommended
        .filter(|_| verdict != Verdict::DoesNotCarry)
        .filter(|_| matches!(reason, Reason::None | Reason::Untried | Reason::LowerRate(_)))
        .map(|found| AnswerSettings {
            flows: found.recommendation.flows,
            payload: found.recommendation.payload,
            burst: found.recommendation.burst,
            measured_together: found.recommendation.measured_together,
            recovery: found.recommendation.recovery,
        });
    let basis = recommended.map(|found| {
        let mut basis = found.basis.clone();
        if settings.is_some() && reason != Reason::Untried {
            basis.residual_loss = Some(found.recommendation.expected_residual_interval.1);
            basis.target_loss = Some(found.recommendation.target_loss);
        }
        basis.interrupted = media.interrupted;
        basis.sentence = words::basis(&basis, &media.kind);
        basis
    });
    Answer {
        verdict,
        sentence: words::sentence(verdict, reason, &media, settings.as_ref(), recommended),
        next: words::next(reason, &media, settings.as_ref(), recommended),
        worst: worst(findings),
        media_rate: media.rate,
        media_format: media.format,
        settings,
        basis,
    }
}

fn judge(media: &Media, recommended: Option<&Recommended>) -> (Verdict, Reason) {
    let Some(found) = recommended else {
        return (Verdict::CannotSay, Reason::NoFlowTest);
    };
    let (basis, advice) = (&found.basis, &found.recommendation);
    let (Some(rate), Some(tested)) = (media.rate.filter(|rate| *rate > 0), basis.rate) else {
        return (Verdict::CannotSay, Reason::NoRate);
    };
    let doubt = if basis.late_tests == basis.tests {
        Some(Reason::AlwaysLate)
    } else if basis.host_loss_tests == basis.tests && advice.expected_residual_loss > advice.target_loss {
        Some(Reason::HostLoss)
    } else if basis.packets < LEAST_PACKETS && basis.lost < TELLING_LOSSES {
        Some(Reason::FewPackets)
    } else if found.load == Load::Untried {
        Some(Reason::Untried)
    } else {
        None
    };
    if let Some(reason) = doubt {
        return (Verdict::CannotSay, reason);
    }
    // A trial knows what a rule of thumb does not.
    let tried = advice.meets_target && advice.simulated_residual_loss.is_some();
    match found.load {
        Load::AtTimes => (Verdict::DoesNotCarry, Reason::AtTimes),
        Load::TooMuch => (Verdict::DoesNotCarry, Reason::TooMuch),
        _ if advice.expected_loss > MOST_LOSS && !tried => (Verdict::DoesNotCarry, Reason::TooLossy),
        // What a short test cannot know is no reason against a path.
        _ if !advice.meets_target && advice.longer_test_ns.is_none() => {
            (Verdict::DoesNotCarry, Reason::Residual)
        }
        _ if !is_at(basis.rate, rate) => (Verdict::CannotSay, Reason::LowerRate(tested)),
        _ if advice.recovery == Recovery::None || advice.longer_test_ns.is_some() => {
            (Verdict::Carries, Reason::None)
        }
        _ => (Verdict::CarriesWithRepair, Reason::None),
    }
}

/// The first of the findings, which are sorted by severity, if it is worth a warning.
fn worst(findings: &[Finding]) -> Option<Worst> {
    let first = findings.first()?;
    (first.severity > Severity::Information).then(|| Worst {
        name: first.name,
        severity: first.severity,
        direction: first.direction,
        brief: first.brief.clone(),
    })
}

impl Answer {
    /// The answer as two to four lines of text.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = vec![self.sentence.clone()];
        lines.push(match &self.worst {
            Some(worst) => format!("Worst: {}.", worst.brief),
            None => "Worst: no fault and no notice.".to_owned(),
        });
        lines.extend(
            self.basis
                .iter()
                .map(|basis| format!("Rests on: {}", basis.sentence)),
        );
        lines.extend(self.next.iter().map(|next| format!("Next: {next}")));
        lines
    }
}

#[cfg(test)]
mod tests;
