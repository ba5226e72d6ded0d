//! The disciplines of managed queues, each in a file of its own, and which of them a queue has. It must not know
//! about rates or routes.

mod codel;
mod dualpi2;
mod fq_codel;
mod periodic;
mod pie;
mod red;
mod tail_drop;

use crate::packet::Nanos;
use crate::random::Stream;
use crate::spec::{DisciplineSpec, ManagedQueue};
use crate::waiting::{QueueAccount, QueueDiscipline, Waiting};
use codel::Codel;
use dualpi2::DualPi2;
pub(crate) use fq_codel::FlowHash;
use fq_codel::FqCodel;
use pie::Pie;
use red::Red;
use tail_drop::TailDrop;

/// One of the disciplines.
pub(crate) enum Discipline<P> {
    TailDrop(TailDrop<P>),
    Red(Red<P>),
    Codel(Codel<P>),
    Pie(Pie<P>),
    FqCodel(FqCodel<P>),
    DualPi2(DualPi2<P>),
}

impl<P> Discipline<P> {
    /// `stream` decides what a discipline leaves to chance, `flows` which flows share a queue.
    pub(crate) fn new(spec: &ManagedQueue, stream: Stream, flows: FlowHash) -> Self {
        let limit = spec.limit;
        match spec.discipline {
            DisciplineSpec::TailDrop => Self::TailDrop(TailDrop::new(limit)),
            DisciplineSpec::Red(red) => Self::Red(Red::new(red, limit, stream)),
            DisciplineSpec::Codel(codel) => Self::Codel(Codel::new(codel, limit)),
            DisciplineSpec::Pie(pie) => Self::Pie(Pie::new(pie, limit, stream)),
            DisciplineSpec::DualPi2(spec) => Self::DualPi2(DualPi2::new(spec, limit)),
            DisciplineSpec::FqCodel(spec) => Self::FqCodel(FqCodel::new(&spec, limit, flows)),
        }
    }

    fn chosen(&self) -> &dyn QueueDiscipline<P> {
        match self {
            Self::TailDrop(discipline) => discipline,
            Self::Red(discipline) => discipline,
            Self::Codel(discipline) => discipline,
            Self::Pie(discipline) => discipline,
            Self::FqCodel(discipline) => discipline,
            Self::DualPi2(discipline) => discipline,
        }
    }

    fn chosen_mut(&mut self) -> &mut dyn QueueDiscipline<P> {
        match self {
            Self::TailDrop(discipline) => discipline,
            Self::Red(discipline) => discipline,
            Self::Codel(discipline) => discipline,
            Self::Pie(discipline) => discipline,
            Self::FqCodel(discipline) => discipline,
            Self::DualPi2(discipline) => discipline,
        }
    }
}

impl<P> QueueDiscipline<P> for Discipline<P> {
    fn enqueue(
        &mut self,
        now: Nanos,
        waiting: Waiting<P>,
        account: &mut QueueAccount,
    ) -> Result<(), Waiting<P>> {
        self.chosen_mut().enqueue(now, waiting, account)
    }

    fn dequeue(&mut self, now: Nanos, account: &mut QueueAccount) -> Option<Waiting<P>> {
        self.chosen_mut().dequeue(now, account)
    }

    fn packets(&self) -> u64 {
        self.chosen().packets()
    }

    fn bytes(&self) -> u64 {
        self.chosen().bytes()
    }
}
