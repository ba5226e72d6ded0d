//! Sends the packets of a multi-flow test on time, and measures its delay behind the schedule.

use std::sync::mpsc::Sender;

use serde::{Deserialize, Serialize};
use weir_net::{NetError, SendBatch, UdpSocket, clock};
use weir_results::{Direction, Record, SenderSecond};
use weir_stats::{DurationHistogram, Quantiles};
use weir_wire::{FlowData, FlowId, Sequence, SessionId, UdpKey, UnixNanos};

use super::{Block, FlowsPlan, Pacing, StreamPacker, StreamPacket};
use crate::{MeasureError, Stop};

const SECOND_NS: u64 = 1_000_000_000;
/// How long before its schedule a sender wakes, so that the first packets find warm caches.
const START_DELAY_NS: u64 = 5_000_000;

/// What a sender has to know beside the plan.
pub(crate) struct SenderPlan {
    pub plan: FlowsPlan,
    pub direction: Direction,
    pub destinations: Vec<std::net::SocketAddr>,
    pub session: SessionId,
    pub key: UdpKey,
    /// Rate that an unpaced test must not pass.
    pub ceiling: weir_units::Rate,
    /// UDP payload bytes that may be sent in all.
    pub max_bytes: u64,
}

/// The sender's account of a whole test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SenderReport {
    /// Packets handed to the kernel, from the first sequence on, without a gap but for refused ones.
    pub sent: u64,
    /// The same for each flow.
    pub sent_per_flow: Vec<u64>,
    /// UDP payload bytes.
    pub bytes: u64,
    /// Packets that the kernel had no room for.
    pub refused: u64,
    /// Messages given to the kernel; a train counts as one.
    pub sends: u64,
    /// Trains were cut by the kernel or the card (GSO) until the end.
    pub segmented: bool,
    /// How late bursts left.
    pub schedule_error: Quantiles,
    /// CPU time of the sending thread, nanoseconds.
    pub cpu_ns: u64,
    /// From the first packet to the last, nanoseconds.
    pub wall_ns: u64,
    /// The byte limit ended the test.
    pub hit_byte_limit: bool,
}

struct Sending<'a> {
    plan: &'a SenderPlan,
    socket: &'a UdpSocket,
    batch: SendBatch,
    packer: StreamPacker,
    report: SenderReport,
    errors_second: DurationHistogram,
    errors: DurationHistogram,
}

/// Sends until the plan's time is over or `stop` is set. One [`SenderSecond`] a second goes to `records`.
///
/// # Errors
/// When a packet does not fit the interface, or the socket fails.
pub(crate) fn run_sender(
    plan: &SenderPlan,
    socket: &UdpSocket,
    stop: &Stop,
    records: &Sender<Vec<Record>>,
) -> Result<SenderReport, MeasureError> {
    clock::sharpen_timers();
    let mut sending = Sending {
        plan,
        socket,
        batch: SendBatch::new(
            &plan.destinations,
            noise(plan.plan.length as usize),
            plan.plan.segment,
        ),
        packer: StreamPacker::new(&plan.plan),
        report: SenderReport::default(),
        errors_second: DurationHistogram::new(),
        errors: DurationHistogram::new(),
    };
    sending.run(stop, records)?;
    Ok(sending.into_report())
}

impl Sending<'_> {
    fn run(&mut self, stop: &Stop, records: &Sender<Vec<Record>>) -> Result<(), MeasureError> {
        let start = clock::monotonic_ns() + START_DELAY_NS;
        let mut pacing = Pacing::new(&self.plan.plan, self.plan.ceiling, start);
        let cpu_start = clock::thread_cpu_ns();
        let (mut cpu_before, mut before) = (cpu_start, self.report.clone());
        let mut second_start = start;
        loop {
            let block = self.packer.next_block();
            let due = pacing.due(&block, self.report.bytes);
            if stop.is_set() || pacing.is_over(&block, due) {
                break;
            }
            if self.over_byte_limit(&block) {
                self.report.hit_byte_limit = true;
                break;
            }
            wait_until(pacing.may_leave(due), stop);
            let now = clock::monotonic_ns();
            if pacing.has_ended(now) {
                break;
            }
            pacing.left(&block, now);
            if !self.plan.plan.unpaced {
                self.errors_second.record(now.saturating_sub(due) as i64);
            }
            self.send_block(&block)?;
            if now - second_start.min(now) >= SECOND_NS {
                let cpu = clock::thread_cpu_ns();
                self.close_second(now - second_start, &before, cpu - cpu_before, records);
                (cpu_before, before, second_start) = (cpu, self.report.clone(), now);
            }
        }
        let now = clock::monotonic_ns();
        let cpu = clock::thread_cpu_ns();
        self.close_second(
            now.saturating_sub(second_start),
            &before,
            cpu - cpu_before,
            records,
        );
        self.report.cpu_ns = cpu - cpu_start;
        self.report.wall_ns = now.saturating_sub(start);
        Ok(())
    }

    fn over_byte_limit(&self, block: &Block) -> bool {
        let next = u64::from(block.packets) * u64::from(self.plan.plan.length);
        self.report.bytes + next > self.plan.max_bytes
    }

    fn send_block(&mut self, block: &Block) -> Result<(), MeasureError> {
        let sent = UnixNanos(clock::unix_ns());
        self.batch.clear();
        let (plan, batch) = (self.plan, &mut self.batch);
        self.packer
            .pack(block, |packet| push_packet(plan, batch, &packet, sent));
        let outcome = self
            .batch
            .send(self.socket)
            .map_err(|error| self.explain(error))?;
        self.report.sent += outcome.packets + outcome.refused;
        self.report.bytes += outcome.bytes;
        self.report.sends += outcome.sends;
        self.report.refused += outcome.refused;
        Ok(())
    }

    fn explain(&self, error: std::io::Error) -> MeasureError {
        let peer = self.plan.destinations[0];
        if error.raw_os_error() == Some(weir_net::EMSGSIZE) {
            return crate::path_mtu::too_long(peer, self.plan.plan.length);
        }
        MeasureError::Net(NetError::io("send to", peer, error))
    }

    fn close_second(
        &mut self,
        duration_ns: u64,
        before: &SenderReport,
        cpu_ns: u64,
        records: &Sender<Vec<Record>>,
    ) {
        let row = SenderSecond {
            unix_ns: clock::unix_ns(),
            duration_ns,
            sent: self.report.sent - before.sent,
            bytes: self.report.bytes - before.bytes,
            sends: self.report.sends - before.sends,
            refused: self.report.refused - before.refused,
            schedule_error: self.errors_second.quantiles(),
            cpu_ns,
        };
        self.errors.merge(&self.errors_second);
        self.errors_second.clear();
        // The reader of records has gone only when the test is over.
        let _ = records.send(vec![Record::SenderSecond(self.plan.direction, row)]);
    }

    fn into_report(self) -> SenderReport {
        SenderReport {
            sent_per_flow: self.packer.per_flow().to_vec(),
            segmented: self.batch.segments(),
            schedule_error: self.errors.quantiles(),
            ..self.report
        }
    }
}

fn push_packet(plan: &SenderPlan, batch: &mut SendBatch, packet: &StreamPacket, sent: UnixNanos) {
    let header = FlowData {
        session: plan.session,
        stream_sequence: Sequence(packet.stream_sequence as u32),
        flow_sequence: Sequence(packet.flow_sequence as u32),
        flow: FlowId(packet.flow),
        flags: u16::from(packet.last_of_frame),
        frame: packet.frame as u32,
        frame_offset: packet.frame_offset,
        sent,
    };
    let mut bytes = [0; weir_wire::FLOW_HEADER_LENGTH];
    header.encode(&plan.key, &mut bytes);
    batch.push(
        usize::from(packet.flow),
        &bytes,
        packet.length as usize - bytes.len(),
    );
}

/// Sleeps until `deadline_ns`, waking now and then to see whether the test is to stop.
fn wait_until(deadline_ns: u64, stop: &Stop) {
    const NAP_NS: u64 = 100_000_000;
    loop {
        let now = clock::monotonic_ns();
        if now >= deadline_ns || stop.is_set() {
            return;
        }
        clock::sleep_until(deadline_ns.min(now + NAP_NS));
    }
}

/// Payload that no link can compress: xorshift64 of Marsaglia (2003).
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(length + 8);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}
