//! Sends the packets of a multi-flow test: sockets, a clock and threads around [`StreamSender`]s, one for each share of the
//! flows.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::sync::mpsc::{Sender, channel};

use weir_net::{NetError, SendBatch, UdpOptions, UdpSocket, clock};
use weir_record::{Direction, Record};
use weir_stats::{Counters, SendCounts};
use weir_wire::{FlowData, FlowId, Sequence, SessionId, UdpKey, UnixNanos, flows_of_share};

use super::lockstep::{Lockstep, Turn};
use super::{FlowsPlan, SenderAccount, SenderPart, SenderReport, StreamPacket, StreamSender};
use crate::{MeasureError, Stop};

/// How long before its schedule a sender wakes, so that the first packets find warm caches.
const START_DELAY_NS: u64 = 5_000_000;
/// How long a thread naps that others are to catch up with: a small part of the time of a block at high rates.
const NAP_NS: u64 = 20_000;

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
    /// Threads that send, at most one for each flow.
    pub threads: u16,
}

/// The start that all threads of a sender share, which is set once they run: on a busy machine that may be later than a short
/// test's end.
struct Start {
    getting_ready: AtomicU16,
    at_ns: OnceLock<u64>,
}

impl Start {
    /// One thread more is ready, or will never be.
    fn ready(&self) {
        if self.getting_ready.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.at_ns.get_or_init(|| clock::monotonic_ns() + START_DELAY_NS);
        }
    }
}

/// A socket and what it is to send.
struct Lane<'s> {
    socket: &'s UdpSocket,
    batch: SendBatch,
}

/// What a socket that sends a test's packets is asked for.
pub(crate) fn sending_options(plan: &FlowsPlan) -> UdpOptions {
    UdpOptions {
        send_buffer: 8 << 20,
        ecn: plan.ecn,
        ..UdpOptions::default()
    }
}

/// Sends until the plan's time is over or `stop` is set: from one socket, flow `n` to destination `n`; from several, flow `n`
/// from socket `n` to the first destination. One [`SenderSecond`](weir_record::SenderSecond) a second goes to
/// `records`.
///
/// # Errors
/// When a packet does not fit the interface, or the socket fails.
pub(crate) fn run_sender(
    plan: &SenderPlan,
    sockets: &[UdpSocket],
    stop: &Stop,
    records: &Sender<Vec<Record>>,
) -> Result<SenderReport, MeasureError> {
    let siblings: Vec<UdpSocket> = match sockets {
        [shared] => {
            let options = sending_options(&plan.plan);
            let more = (1..plan.threads).map(|_| shared.beside(&options));
            more.collect::<Result<_, _>>()?
        }
        _ => Vec::new(),
    };
    let lockstep = Lockstep::new(plan.threads);
    let start = Start {
        getting_ready: AtomicU16::new(plan.threads),
        at_ns: OnceLock::new(),
    };
    let (parts, inbox) = channel();
    std::thread::scope(|scope| {
        let mut threads = Vec::new();
        for thread in 0..plan.threads {
            let share = Share {
                plan,
                sockets: match siblings.get(usize::from(thread).wrapping_sub(1)) {
                    Some(own) => std::slice::from_ref(own),
                    None => sockets,
                },
                stop,
                lockstep: &lockstep,
                thread,
                start: &start,
                parts: parts.clone(),
            };
            let spawned = std::thread::Builder::new()
                .name("flows-send".into())
                .spawn_scoped(scope, move || share.run());
            match spawned {
                Ok(running) => threads.push(running),
                Err(error) => {
                    // Those that run need not wait for the others.
                    (thread..plan.threads).for_each(|missing| {
                        lockstep.leave(missing);
                        start.ready();
                    });
                    return Err(MeasureError::thread(&error));
                }
            }
        }
        drop(parts);
        let mut account = SenderAccount::new(plan.direction, plan.threads);
        for (thread, part) in inbox {
            let rows = account.add(thread, part);
            if !rows.is_empty() {
                // The reader of records has gone only when the test is over.
                let _ = records.send(rows);
            }
        }
        let mut segments = true;
        for thread in threads {
            let broke_off = |_| Err(MeasureError::Internal("a sending thread broke off".into()));
            segments &= thread.join().unwrap_or_else(broke_off)?;
        }
        Ok(account.report(segments))
    })
}

/// The packets of one thread.
struct Share<'a> {
    plan: &'a SenderPlan,
    sockets: &'a [UdpSocket],
    stop: &'a Stop,
    lockstep: &'a Lockstep,
    thread: u16,
    start: &'a Start,
    parts: Sender<(u16, SenderPart)>,
}

impl Share<'_> {
    /// Sends them; returns whether trains were cut by the kernel or the card until the end.
    fn run(self) -> Result<bool, MeasureError> {
        clock::sharpen_timers();
        let plan = self.plan;
        let noise = noise(plan.plan.length as usize);
        let lane = |socket| Lane {
            socket,
            batch: SendBatch::new(&plan.destinations, noise.clone(), plan.plan.segment),
        };
        let mut lanes: Vec<Lane> = self.sockets.iter().map(lane).collect();
        let flows = flows_of_share(self.thread, plan.threads, plan.plan.flows);
        self.start.ready();
        let start_ns = *self.start.at_ns.wait();
        let mut core = StreamSender::of_flows(&plan.plan, flows, plan.ceiling, plan.max_bytes, start_ns);
        let cpu_start = clock::thread_cpu_ns();
        let cpu = || clock::thread_cpu_ns() - cpu_start;
        loop {
            if let Some(at) = core.next_wake() {
                wait_until(at, self.stop);
            }
            let now = clock::monotonic_ns();
            let over = self.stop.is_set() || core.is_over(now);
            match self.lockstep.turn(self.thread, core.blocks(), over) {
                Turn::Send => {}
                Turn::Wait => {
                    clock::sleep_until(now + NAP_NS);
                    continue;
                }
                Turn::End => break,
            }
            let sent = UnixNanos(clock::unix_ns());
            lanes.iter_mut().for_each(|lane| lane.batch.clear());
            core.hand_over(now, |packet| push_packet(plan, &mut lanes, &packet, sent));
            core.sent(send(plan, &mut lanes)?);
            if let Some(part) = core.take_second(now, sent.0, cpu) {
                self.tell(part);
            }
        }
        self.tell(core.finish(clock::monotonic_ns(), clock::unix_ns(), cpu()));
        Ok(lanes.iter().all(|lane| lane.batch.segments()))
    }

    fn tell(&self, part: SenderPart) {
        // The account outlives all threads.
        let _ = self.parts.send((self.thread, part));
    }
}

/// However it ends, the others do not wait for it.
impl Drop for Share<'_> {
    fn drop(&mut self) {
        self.lockstep.leave(self.thread);
    }
}

/// Passes what is in the batches to the kernel.
fn send(plan: &SenderPlan, lanes: &mut [Lane]) -> Result<SendCounts, MeasureError> {
    let mut counts = SendCounts::default();
    for lane in lanes {
        let outcome = lane
            .batch
            .send(lane.socket)
            .map_err(|error| explain(plan, error))?;
        counts.add(&SendCounts {
            sent: outcome.packets + outcome.refused,
            bytes: outcome.bytes,
            sends: outcome.sends,
            refused: outcome.refused,
        });
    }
    Ok(counts)
}

fn explain(plan: &SenderPlan, error: std::io::Error) -> MeasureError {
    let peer = plan.destinations[0];
    if error.raw_os_error() == Some(weir_net::EMSGSIZE) {
        return crate::path_mtu::too_long(peer, plan.plan.length);
    }
    MeasureError::Net(NetError::io("send to", peer, error))
}

fn push_packet(plan: &SenderPlan, lanes: &mut [Lane], packet: &StreamPacket, sent: UnixNanos) {
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
    let flow = usize::from(packet.flow);
    let (lane, destination) = if lanes.len() == 1 { (0, flow) } else { (flow, 0) };
    if let Some(lane) = lanes.get_mut(lane) {
        lane.batch
            .push(destination, &bytes, packet.length as usize - bytes.len());
    }
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
