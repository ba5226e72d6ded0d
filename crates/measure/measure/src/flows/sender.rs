//! Sends the packets of a multi-flow test: a socket and a clock around [`StreamSender`].

use std::sync::mpsc::Sender;

use weir_net::{NetError, SendBatch, UdpSocket, clock};
use weir_record::{Direction, Record};
use weir_stats::SendCounts;
use weir_wire::{FlowData, FlowId, Sequence, SessionId, UdpKey, UnixNanos};

use super::{FlowsPlan, SenderReport, StreamPacket, StreamSender};
use crate::{MeasureError, Stop};

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

/// Sends until the plan's time is over or `stop` is set. One [`SenderSecond`](weir_record::SenderSecond) a second goes to
/// `records`.
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
    let noise = noise(plan.plan.length as usize);
    let mut batch = SendBatch::new(&plan.destinations, noise, plan.plan.segment);
    let start = clock::monotonic_ns() + START_DELAY_NS;
    let mut core = StreamSender::new(&plan.plan, plan.direction, plan.ceiling, plan.max_bytes, start);
    let cpu_start = clock::thread_cpu_ns();
    let cpu = || clock::thread_cpu_ns() - cpu_start;
    // The reader of records has gone only when the test is over.
    let keep = |row| drop(records.send(vec![row]));
    while let Some(at) = core.next_wake().filter(|_| !stop.is_set()) {
        wait_until(at, stop);
        let now = clock::monotonic_ns();
        let sent = UnixNanos(clock::unix_ns());
        batch.clear();
        core.wake(now, |packet| push_packet(plan, &mut batch, &packet, sent));
        let outcome = batch.send(socket).map_err(|error| explain(plan, error))?;
        core.sent(SendCounts {
            sent: outcome.packets + outcome.refused,
            bytes: outcome.bytes,
            sends: outcome.sends,
            refused: outcome.refused,
        });
        core.take_second(now, sent.0, cpu).into_iter().for_each(keep);
    }
    let (last, report) = core.finish(clock::monotonic_ns(), clock::unix_ns(), cpu(), batch.segments());
    keep(last);
    Ok(report)
}

fn explain(plan: &SenderPlan, error: std::io::Error) -> MeasureError {
    let peer = plan.destinations[0];
    if error.raw_os_error() == Some(weir_net::EMSGSIZE) {
        return crate::path_mtu::too_long(peer, plan.plan.length);
    }
    MeasureError::Net(NetError::io("send to", peer, error))
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
