//! Receives the packets of a multi-flow test on one thread and feeds them to the account.

use std::os::fd::AsRawFd;
use std::sync::mpsc::{Receiver as Inbox, Sender, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;

use weir_net::wait::Waiter;
use weir_net::{NetError, ReceiveBatch, UdpSocket, clock};
use weir_record::Record;
use weir_units::Rate;
use weir_wire::{FlowData, SessionId, UdpKey};

use super::account::{StreamAccount, StreamAccountPlan};
use super::report::ReceiverReport;
use crate::{MeasureError, Stop};

/// How often records are handed on.
const HAND_ON_NS: u64 = 200_000_000;
/// How long copies may still come once every packet is there.
const COPIES_NS: u64 = 50_000_000;
/// Buffers taken by one system call.
const BATCH: usize = 16;
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
            .spawn(move || Receiving::new(plan, sockets, records)?.run(&inbox, &stop))
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

struct Receiving {
    plan: ReceiverPlan,
    sockets: Vec<UdpSocket>,
    records: Sender<Vec<Record>>,
    waiter: Waiter,
    batch: ReceiveBatch,
    account: StreamAccount,
    buffers: u64,
    packets: u64,
}

impl Receiving {
    fn new(
        plan: ReceiverPlan,
        sockets: Vec<UdpSocket>,
        records: Sender<Vec<Record>>,
    ) -> Result<Self, MeasureError> {
        let waiter = Waiter::new().map_err(|error| NetError::io("wait for", "flow sockets", error))?;
        for (index, socket) in sockets.iter().enumerate() {
            waiter
                .add(socket.as_raw_fd(), index)
                .map_err(|error| NetError::io("wait for", socket.local(), error))?;
        }
        let account = StreamAccount::new(plan.account.clone(), clock::monotonic_ns(), clock::unix_ns());
        Ok(Receiving {
            plan,
            sockets,
            records,
            waiter,
            batch: ReceiveBatch::new(BATCH),
            account,
            buffers: 0,
            packets: 0,
        })
    }

    fn run(mut self, inbox: &Inbox<Ending>, stop: &Stop) -> Result<ReceiverReport, MeasureError> {
        clock::sharpen_timers();
        let start = clock::monotonic_ns();
        let cpu_start = clock::thread_cpu_ns();
        let mut next_hand_on = start;
        let mut ending = Ending { sent: None };
        let mut aborted = None;
        loop {
            self.receive_ready()?;
            let now = clock::monotonic_ns();
            if now >= self.account.next_wake() {
                let sockets = &self.sockets;
                let rate = self.account.wake(now, clock::unix_ns(), || socket_drops(sockets));
                aborted = aborted.or(rate.and_then(|rate| self.over_rate(rate)));
            }
            if now >= next_hand_on {
                self.hand_on();
                next_hand_on = now + HAND_ON_NS;
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
        let drops = socket_drops(&self.sockets);
        let mut report = self
            .account
            .finish(clock::monotonic_ns(), clock::unix_ns(), sent, &drops);
        self.hand_on();
        report.merged_receive = self.sockets.iter().all(UdpSocket::merges) && self.packets > self.buffers;
        report.packets_per_buffer = self.packets as f64 / self.buffers.max(1) as f64;
        report.receive_buffer = self
            .sockets
            .iter()
            .map(UdpSocket::receive_buffer)
            .min()
            .unwrap_or(0) as u64;
        report.cpu_ns = clock::thread_cpu_ns() - cpu_start;
        report.wall_ns = clock::monotonic_ns() - start;
        report.aborted = aborted;
        Ok(report)
    }

    /// Takes what all ready sockets have; returns whether there was anything.
    fn receive_ready(&mut self) -> Result<bool, MeasureError> {
        let count = self
            .waiter
            .wait(1)
            .map_err(|error| NetError::io("wait for", "flow sockets", error))?;
        let ready: [usize; 64] = {
            let mut indices = [usize::MAX; 64];
            for (slot, index) in indices.iter_mut().zip(self.waiter.ready()) {
                *slot = index;
            }
            indices
        };
        for index in ready.into_iter().take(count) {
            self.receive_from(index)?;
        }
        Ok(count > 0)
    }

    fn receive_from(&mut self, index: usize) -> Result<(), MeasureError> {
        let socket = &self.sockets[index];
        let filled = self
            .batch
            .receive(socket)
            .map_err(|error| NetError::io("receive on", socket.local(), error))?;
        self.buffers += filled as u64;
        let now = clock::monotonic_ns();
        let unix = clock::unix_ns();
        for datagram in self.batch.datagrams() {
            self.packets += 1;
            match FlowData::decode(&self.plan.key, self.plan.session, datagram.bytes) {
                Ok(packet) if datagram.bytes.len() <= self.plan.max_length as usize => {
                    let arrived = datagram.ancillary.kernel_ns.unwrap_or(unix);
                    self.account
                        .on_packet(now, arrived, &packet, datagram.bytes.len() as u32);
                    if datagram.ancillary.congestion {
                        self.account.on_congestion_mark(&packet);
                    }
                }
                _ => self.account.reject(),
            }
        }
        Ok(())
    }

    /// Waits for packets that may still be on their way: until all have come, or none has for a while.
    fn drain(&mut self, ending: &Ending, stop: &Stop) -> Result<(), MeasureError> {
        let wait = self.plan.account.depth.time_ns.max(100_000_000) + 200_000_000;
        let mut last_arrival = clock::monotonic_ns();
        let limit = last_arrival + 10 * wait;
        let all = ending.sent.as_ref().map_or(u64::MAX, |(all, _)| *all);
        loop {
            let now = clock::monotonic_ns();
            if self.receive_ready()? {
                last_arrival = now;
            }
            self.account.poll(now);
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

    fn hand_on(&mut self) {
        let records = self.account.take_records();
        if !records.is_empty() {
            // Nobody left to take them means that the test is over.
            let _ = self.records.send(records);
        }
    }
}

fn socket_drops(sockets: &[UdpSocket]) -> Vec<u64> {
    sockets.iter().map(UdpSocket::receive_drops).collect()
}
