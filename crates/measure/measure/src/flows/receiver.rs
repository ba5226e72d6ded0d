//! Receives the packets of a multi-flow test and feeds them to the account, which has a thread of its own; that thread reads the
//! sockets itself, or others do.

use std::sync::mpsc::{Receiver as Inbox, Sender, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use weir_net::{UdpSocket, clock};
use weir_record::Record;
use weir_units::Rate;
use weir_wire::{SessionId, UdpKey};

use super::account::{StreamAccount, StreamAccountPlan};
use super::intake::Intake;
use super::reader::Wanted;
use super::report::ReceiverReport;
use crate::{MeasureError, Stop};

/// How often records are handed on.
const HAND_ON_NS: u64 = 200_000_000;
/// How long copies may still come once every packet is there.
const COPIES_NS: u64 = 50_000_000;
/// How much more than the agreed rate a receiver takes in a second before it ends the test.
const RATE_TOLERANCE: f64 = 1.5;

/// What a receiver has to know.
pub(crate) struct ReceiverPlan {
    pub account: StreamAccountPlan,
    pub session: SessionId,
    pub key: UdpKey,
    /// A stream faster than this is ended.
    pub max_rate: Rate,
    /// Longer packets are not of this test.
    pub max_length: u32,
    /// Threads that read, at most one for each flow.
    pub threads: u16,
}

/// The sender's final counts.
struct Ending {
    sent: Option<(u64, Vec<u64>)>,
}

/// A receiving thread.
pub(crate) struct Receiver {
    thread: JoinHandle<Result<ReceiverReport, MeasureError>>,
    ending: SyncSender<Ending>,
}

impl Receiver {
    /// Starts receiving on `sockets`, one for each flow. Records go to `records`.
    pub(crate) fn start(
        plan: ReceiverPlan,
        sockets: Vec<UdpSocket>,
        records: Sender<Vec<Record>>,
        stop: Stop,
    ) -> Result<Self, MeasureError> {
        let (ending, inbox) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("flows-receive".into())
            .spawn(move || receive(plan, &sockets, records, (&inbox, &stop)))
            .map_err(|error| MeasureError::Internal(format!("cannot start a receiving thread: {error}")))?;
        Ok(Receiver { thread, ending })
    }

    /// The receiver has ended the test by itself.
    pub(crate) fn is_finished(&self) -> bool {
        self.thread.is_finished()
    }

    /// Ends the test: waits for packets still on their way, then gives the report.
    pub(crate) fn finish(self, sent: Option<(u64, Vec<u64>)>) -> Result<ReceiverReport, MeasureError> {
        // A receiver that has ended by itself no longer listens; its report says why.
        let _ = self.ending.send(Ending { sent });
        self.thread
            .join()
            .unwrap_or_else(|_| Err(MeasureError::Internal("the receiving thread broke off".into())))
    }
}

fn receive(
    plan: ReceiverPlan,
    sockets: &[UdpSocket],
    records: Sender<Vec<Record>>,
    (inbox, stop): (&Inbox<Ending>, &Stop),
) -> Result<ReceiverReport, MeasureError> {
    let wanted = Wanted {
        session: plan.session,
        key: plan.key,
        max_length: plan.max_length,
    };
    std::thread::scope(|scope| {
        let intake = Intake::start(scope, wanted, sockets, plan.threads)?;
        let account = StreamAccount::new(plan.account.clone(), clock::monotonic_ns(), clock::unix_ns());
        let receiving = Receiving {
            plan,
            sockets,
            records,
            intake,
            account,
        };
        receiving.run(inbox, stop)
    })
}

struct Receiving<'s> {
    plan: ReceiverPlan,
    sockets: &'s [UdpSocket],
    records: Sender<Vec<Record>>,
    intake: Intake<'s>,
    account: StreamAccount,
}

impl Receiving<'_> {
    fn run(mut self, inbox: &Inbox<Ending>, stop: &Stop) -> Result<ReceiverReport, MeasureError> {
        clock::sharpen_timers();
        let start = clock::monotonic_ns();
        let cpu_start = clock::thread_cpu_ns();
        let mut next_hand_on = start;
        let mut ending = Ending { sent: None };
        let mut aborted = None;
        loop {
            let now = self.intake.take(&mut self.account)?.until_ns;
            if now >= self.account.next_wake() {
                let sockets = self.sockets;
                let rate = self.account.wake(now, unix_at(now), || socket_drops(sockets));
                aborted = aborted.or(rate.and_then(|rate| self.over_rate(rate)));
            }
            if clock::monotonic_ns() >= next_hand_on {
                hand_on(&mut self.account, &self.records);
                next_hand_on = clock::monotonic_ns() + HAND_ON_NS;
                match inbox.try_recv() {
                    Ok(told) => {
                        ending = told;
                        self.drain(&ending, stop)?;
                        break;
                    }
                    Err(TryRecvError::Empty) => {}
                    Err(TryRecvError::Disconnected) => break,
                }
                if stop.is_set() || aborted.is_some() {
                    break;
                }
            }
        }
        let sent = ending.sent.as_ref().map(|(all, flows)| (*all, flows.as_slice()));
        let drops = socket_drops(self.sockets);
        let totals = self.intake.finish(&mut self.account);
        let (now, unix) = (clock::monotonic_ns(), clock::unix_ns());
        let mut report = self.account.finish(now, unix, sent, &drops);
        hand_on(&mut self.account, &self.records);
        let merges = self.sockets.iter().all(UdpSocket::merges);
        report.threads = self.plan.threads;
        report.merged_receive = merges && totals.packets > totals.buffers;
        report.packets_per_buffer = totals.packets as f64 / totals.buffers.max(1) as f64;
        let buffers = self.sockets.iter().map(UdpSocket::receive_buffer);
        report.receive_buffer = buffers.min().unwrap_or(0) as u64;
        report.cpu_ns = clock::thread_cpu_ns() - cpu_start + totals.cpu_ns;
        report.wall_ns = clock::monotonic_ns() - start;
        report.aborted = aborted;
        Ok(report)
    }

    /// Waits for packets that may still be on their way: until all have come, or none has for a while.
    fn drain(&mut self, ending: &Ending, stop: &Stop) -> Result<(), MeasureError> {
        let wait = self.plan.account.depth.time_ns.max(100_000_000) + 200_000_000;
        let mut last_arrival = clock::monotonic_ns();
        let limit = last_arrival + 10 * wait;
        let all = ending.sent.as_ref().map_or(u64::MAX, |(all, _)| *all);
        loop {
            let now = clock::monotonic_ns();
            let taken = self.intake.take(&mut self.account)?;
            if taken.any {
                last_arrival = now;
            }
            self.account.poll(taken.until_ns);
            let patience = if self.account.received() >= all {
                COPIES_NS
            } else {
                wait
            };
            if now >= last_arrival + patience || now >= limit || stop.is_set() {
                return Ok(());
            }
        }
    }

    fn over_rate(&self, rate: Rate) -> Option<String> {
        (rate.0 as f64 > self.plan.max_rate.0 as f64 * RATE_TOLERANCE).then(|| {
            format!(
                "the stream came at {}, above the limit of {}",
                rate.rounded(),
                self.plan.max_rate.rounded()
            )
        })
    }
}

fn hand_on(account: &mut StreamAccount, records: &Sender<Vec<Record>>) {
    let taken = account.take_records();
    if !taken.is_empty() {
        // Nobody left to take them means that the test is over.
        let _ = records.send(taken);
    }
}

/// The Unix time of a monotonic time that has passed.
fn unix_at(monotonic_ns: u64) -> u64 {
    let passed_ns = clock::monotonic_ns().saturating_sub(monotonic_ns);
    clock::unix_ns().saturating_sub(passed_ns)
}

fn socket_drops(sockets: &[UdpSocket]) -> Vec<u64> {
    sockets.iter().map(UdpSocket::receive_drops).collect()
}
