//! Loss processes: each decides once for every packet on its route, in order. They must not know
//! about time, length or flow.

use crate::random::Stream;
use crate::spec::LossSpec;

/// One loss process and its state.
#[derive(Clone, Debug)]
pub(crate) enum LossProcess {
    Bernoulli { loss: f64, stream: Stream },
    GilbertElliott(GilbertElliott),
    Packets { numbers: Box<[u64]>, next: usize },
}

impl LossProcess {
    pub(crate) fn new(spec: &LossSpec, mut stream: Stream) -> Self {
        match *spec {
            LossSpec::Bernoulli(loss) => Self::Bernoulli { loss, stream },
            LossSpec::GilbertElliott {
                to_bad,
                to_good,
                loss_good,
                loss_bad,
            } => {
                let bad_share = if to_bad > 0.0 {
                    to_bad / (to_bad + to_good)
                } else {
                    0.0
                };
                let bad = stream.chance(bad_share);
                Self::GilbertElliott(GilbertElliott {
                    bad,
                    to_bad,
                    to_good,
                    loss_good,
                    loss_bad,
                    stream,
                })
            }
            LossSpec::Packets(ref numbers) => Self::Packets {
                numbers: numbers.as_slice().into(),
                next: 0,
            },
        }
    }

    /// Whether the packet with this number on its route is lost. Numbers must grow from call to call.
    pub(crate) fn loses(&mut self, number: u64) -> bool {
        match self {
            Self::Bernoulli { loss, stream } => stream.chance(*loss),
            Self::GilbertElliott(process) => process.loses(),
            Self::Packets { numbers, next } => {
                while numbers.get(*next).is_some_and(|&listed| listed < number) {
                    *next += 1;
                }
                numbers.get(*next) == Some(&number)
            }
        }
    }
}

/// Two states (Gilbert 1960, Elliott 1963). The first state is drawn from the stationary distribution, so that the
/// expected loss is the same for every packet. Each packet sees the state, then the state makes a transition: a stay in
/// the bad state lasts 1 / `to_good` packets on average.
#[derive(Clone, Debug)]
pub(crate) struct GilbertElliott {
    bad: bool,
    to_bad: f64,
    to_good: f64,
    loss_good: f64,
    loss_bad: f64,
    stream: Stream,
}

impl GilbertElliott {
    fn loses(&mut self) -> bool {
        let (loss, change) = if self.bad {
            (self.loss_bad, self.to_good)
        } else {
            (self.loss_good, self.to_bad)
        };
        let lost = self.stream.chance(loss);
        self.bad ^= self.stream.chance(change);
        lost
    }
}
