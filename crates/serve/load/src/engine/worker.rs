//! One thread of viewers: lets them in and out when it is time, and reports every second.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::LocalSet;
use weir_net::clock::{sharpen_timers, thread_cpu_ns};

use crate::client::Dialer;
use crate::clock::monotonic_ns;
use crate::measure::{Account, Quality, Segment};
use crate::schedule::{Arrivals, Change};
use crate::viewer::{Behaviour, Leaving, Shared, view};

const SECOND_NS: u64 = 1_000_000_000;
/// How soon a thread notices that the run ends.
const LOOK: Duration = Duration::from_millis(10);

/// What a thread is started with.
pub(super) struct Worker {
    /// Which thread, from 0.
    pub number: usize,
    /// How many there are.
    pub of: usize,
    pub behaviour: Arc<Behaviour>,
    pub arrivals: Arrivals,
    pub dialer: Dialer,
    /// Monotonic nanoseconds.
    pub start_ns: u64,
    /// The run is to end.
    pub ending: Arc<AtomicBool>,
    /// How many viewers there are in all, where somebody else than the schedule says so.
    pub target: Option<watch::Receiver<u32>>,
    pub reports: Sender<Report>,
    /// How long requests may take after the end.
    pub drain: Duration,
}

/// A second of a thread.
pub(super) struct Report {
    /// Which second, from 0.
    pub number: u64,
    pub duration_ns: u64,
    pub account: Account,
    pub quality: Quality,
    pub segments: Vec<Segment>,
    pub viewers: u64,
    /// Most that were there at once.
    pub most_viewers: u64,
    pub arrivals: u64,
    pub cpu_ns: u64,
}

/// The viewers of a thread.
struct Room {
    shared: Rc<Shared>,
    /// Those that are there, by number.
    present: RefCell<HashMap<u64, Rc<Leaving>>>,
    arrivals: Cell<u64>,
    /// Most that were there since the last report.
    most: Cell<u64>,
    /// Time between the first requests of two viewers, where requests have times of their own.
    stagger_ns: u64,
}

impl Room {
    fn arrive(self: &Rc<Self>, number: u64, intended_ns: u64) {
        let leaving = Rc::new(Leaving::default());
        self.present.borrow_mut().insert(number, leaving.clone());
        self.arrivals.set(self.arrivals.get() + 1);
        self.most
            .set(self.most.get().max(self.present.borrow().len() as u64));
        let room = self.clone();
        let first_ns = intended_ns + number.wrapping_mul(self.stagger_ns);
        tokio::task::spawn_local(async move {
            view(room.shared.clone(), leaving.clone(), number, first_ns).await;
            let mut present = room.present.borrow_mut();
            // A viewer with the same number may have arrived since it was asked to leave.
            if present.get(&number).is_some_and(|now| Rc::ptr_eq(now, &leaving)) {
                present.remove(&number);
            }
        });
    }

    fn leave(&self, number: u64) {
        if let Some(leaving) = self.present.borrow_mut().remove(&number) {
            leaving.tell();
        }
    }
}

impl Worker {
    pub fn start(self) -> std::io::Result<JoinHandle<()>> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        std::thread::Builder::new()
            .name(format!("viewers-{}", self.number))
            .spawn(move || {
                sharpen_timers();
                LocalSet::new().block_on(&runtime, self.work());
            })
    }

    async fn work(self) {
        let stagger_ns = match (self.behaviour.pace, self.arrivals.most_viewers()) {
            (Some(pace), Some(viewers)) if viewers > 0 => pace.as_nanos() as u64 / u64::from(viewers),
            _ => 0,
        };
        let Worker {
            number,
            of,
            behaviour,
            arrivals,
            dialer,
            start_ns,
            ending,
            target,
            reports,
            drain,
        } = self;
        let room = Rc::new(Room {
            shared: Rc::new(Shared::new(behaviour.clone(), dialer)),
            present: RefCell::default(),
            arrivals: Cell::new(0),
            most: Cell::new(0),
            stagger_ns,
        });
        let mine = move |slot: u64| slot % of as u64 == number as u64;
        let reporting = tokio::task::spawn_local(report_on(room.clone(), start_ns, reports, ending.clone()));
        let over = async {
            while !ending.load(Ordering::Acquire) {
                tokio::time::sleep(LOOK).await;
            }
        };
        tokio::select! {
            () = over => {}
            () = let_in(&room, &arrivals, behaviour.seed, start_ns, &mine) => {}
            () = follow_target(&room, target, &mine) => {}
        }
        let told: Vec<Rc<Leaving>> = room.present.borrow().values().cloned().collect();
        told.iter().for_each(|leaving| leaving.tell());
        let patience = monotonic_ns() + drain.as_nanos() as u64;
        // Viewers that left before are still about as long as anyone holds the room; the report's task is one.
        while Rc::strong_count(&room) > 2 && monotonic_ns() < patience {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        DRAINED.with(|drained| drained.set(true));
        let _ = reporting.await;
    }
}

thread_local! {
    /// All viewers of this thread have left: the last report can be made.
    static DRAINED: Cell<bool> = const { Cell::new(false) };
}

/// Lets viewers in and out by the schedule.
async fn let_in(room: &Rc<Room>, arrivals: &Arrivals, seed: u64, start_ns: u64, mine: &dyn Fn(u64) -> bool) {
    let mut slots = 0_u64;
    for (at, change) in arrivals.changes(seed) {
        let due_ns = start_ns.saturating_add(at);
        let slot = match change {
            Change::Arrive => slots,
            Change::Leave => slots.saturating_sub(1),
        };
        slots = match change {
            Change::Leave => slots.saturating_sub(1),
            Change::Arrive => slots + 1,
        };
        if !mine(slot) {
            continue;
        }
        let now = monotonic_ns();
        if now < due_ns {
            tokio::time::sleep(Duration::from_nanos(due_ns - now)).await;
        } else {
            // A rate beyond what this thread can do must not keep viewers from their turn.
            tokio::task::yield_now().await;
        }
        match change {
            Change::Arrive => {
                room.shared.note_lateness(due_ns, monotonic_ns());
                room.arrive(slot, due_ns);
            }
            Change::Leave => room.leave(slot),
        }
    }
    std::future::pending::<()>().await;
}

/// Keeps as many viewers as somebody else says.
async fn follow_target(room: &Rc<Room>, target: Option<watch::Receiver<u32>>, mine: &dyn Fn(u64) -> bool) {
    let Some(mut target) = target else {
        return std::future::pending().await;
    };
    let mut slots = 0_u64;
    loop {
        let wanted = u64::from(*target.borrow_and_update());
        let now = monotonic_ns();
        for slot in (slots..wanted).filter(|slot| mine(*slot)) {
            room.arrive(slot, now);
        }
        for slot in (wanted..slots).filter(|slot| mine(*slot)) {
            room.leave(slot);
        }
        slots = wanted;
        if target.changed().await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Reports every second, and what is left at the end.
async fn report_on(room: Rc<Room>, start_ns: u64, reports: Sender<Report>, ending: Arc<AtomicBool>) {
    let mut since_ns = start_ns;
    let mut cpu_ns = thread_cpu_ns();
    let mut number = 0;
    loop {
        let due_ns = start_ns + (number + 1) * SECOND_NS;
        let last = loop {
            let now = monotonic_ns();
            if ending.load(Ordering::Acquire) && DRAINED.with(Cell::get) {
                break true;
            }
            if now >= due_ns {
                break false;
            }
            tokio::time::sleep(LOOK.min(Duration::from_nanos(due_ns - now))).await;
        };
        let now = monotonic_ns();
        let cpu_now_ns = thread_cpu_ns();
        let report = Report {
            number: if last { u64::MAX } else { number },
            duration_ns: now - since_ns,
            account: room.shared.account.take(),
            quality: room.shared.quality.take(),
            segments: room.shared.segments.take(),
            viewers: room.present.borrow().len() as u64,
            most_viewers: room.most.replace(room.present.borrow().len() as u64),
            arrivals: room.arrivals.take(),
            cpu_ns: cpu_now_ns.saturating_sub(cpu_ns),
        };
        (since_ns, cpu_ns, number) = (now, cpu_now_ns, number + 1);
        if reports.send(report).is_err() || last {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;
    use crate::client::{HttpVersion, Patience, Trust};
    use crate::engine::Config;
    use crate::manifest::UrlRange;
    use crate::viewer::Play;

    /// To which the timers of the runtime are rounded.
    const TICK_NS: u64 = 1_000_000;

    /// Ten minutes of viewers whose origin refuses them; the runtime's time is paused, so that nothing else makes them late.
    #[tokio::test(start_paused = true)]
    async fn viewers_come_and_go_when_they_should_and_each_second_is_reported() {
        let title = url::Url::parse("http://127.0.0.1:1/manifest.mpd").expect("an address");
        let title = UrlRange::of(&title).expect("a place");
        let arrivals = Arrivals::Ramp {
            from: 0,
            to: 10,
            over: Duration::from_secs(400),
        };
        let mut behaviour = Config::new(vec![title], Play::Manifest, arrivals.clone()).behaviour;
        behaviour.think = (Duration::from_secs(60), Duration::from_secs(60));
        let patience = Patience::default();
        let ending = Arc::new(AtomicBool::new(false));
        let (reports, received) = channel();
        let worker = Worker {
            number: 0,
            of: 1,
            behaviour: Arc::new(behaviour),
            arrivals,
            dialer: Dialer::new(&Trust::default(), HttpVersion::One, patience, false)
                .expect("no certificates"),
            start_ns: monotonic_ns(),
            ending: ending.clone(),
            target: None,
            reports,
            drain: patience.silence,
        };
        let end = async move {
            tokio::time::sleep(Duration::from_millis(600_500)).await;
            ending.store(true, Ordering::Release);
        };
        let local = LocalSet::new();
        local.run_until(async { tokio::join!(end, worker.work()) }).await;

        let reports: Vec<Report> = received.iter().collect();
        let (last, seconds) = reports.split_last().expect("reports");
        assert_eq!((seconds.len(), last.number), (600, u64::MAX));
        for (at, second) in (1..).zip(seconds) {
            assert!(
                second.duration_ns.abs_diff(SECOND_NS) <= TICK_NS,
                "{}",
                second.duration_ns
            );
            // One viewer comes every 40 s.
            let there = (at * 10 / 400).min(10);
            assert!(
                second.viewers.abs_diff(there) <= 1,
                "second {at}: {} of {there}",
                second.viewers
            );
            let late = second.account.schedule_error.max().unwrap_or(0);
            assert!(late <= TICK_NS as i64, "second {at}: {late}");
        }
        let arrivals: u64 = seconds.iter().map(|second| second.arrivals).sum();
        assert_eq!((arrivals, seconds[599].viewers), (10, 10));
        let asked: u64 = seconds.iter().map(|second| second.account.total().requests).sum();
        assert!((60..200).contains(&asked), "{asked}");
    }
}
