//! Holds records that the writer has no room for yet, and makes fewer of them: rows of counts of one flow, host
//! or connection become one row that covers a longer time. It knows what may be added up, not who stores it.
//!
//! Only rows that sum up a period are merged. Events (a packet, a burst, a silence, a loss window, a probe, a change of a
//! flow) are
//! kept as they are while there is room: two of them added up would be an event that never happened.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::record::{
    Direction, FlowSecond, FrameSecond, HostSecond, LinkSecond, LoadFailure, LoadSecond, Quantiles, Record,
    RecvSecond, SendSecond, SenderSecond, Side, StreamSecond, TcpSecond, ViewerSecond,
};

/// What became of a record that was put into the backlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It waits as it is.
    Kept,
    /// It became part of another.
    Merged,
    /// There was no room.
    Lost,
}

/// Records that wait, at most `limit` of them.
#[derive(Debug)]
pub(crate) struct Backlog {
    limit: usize,
    events: Vec<Record>,
    sums: HashMap<Key, Sum>,
}

/// Rows with the same key describe the same thing at different times.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Key {
    Stream(Direction),
    /// Flow index and port.
    Flow(Direction, u16, u16),
    Sender(Direction),
    Host(Side),
    /// Number of connections, index of this one, congestion control.
    Tcp(Direction, u16, u16, String),
    Link(Direction),
    Send,
    /// Index of the sender.
    Recv(u16),
    Frames,
    /// Kind of request.
    Load(String),
    /// Kind of request, cause.
    LoadFailure(String, String),
    Viewers,
}

#[derive(Debug)]
struct Sum {
    record: Record,
    /// How many records it was made of, for means.
    parts: u32,
}

impl Backlog {
    pub(crate) fn new(limit: usize) -> Backlog {
        Backlog {
            limit,
            events: Vec::new(),
            sums: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len() + self.sums.len()
    }

    pub(crate) fn put(&mut self, record: Record) -> Fate {
        let full = self.len() >= self.limit;
        let Some(key) = key(&record) else {
            if full {
                return Fate::Lost;
            }
            self.events.push(record);
            return Fate::Kept;
        };
        match self.sums.entry(key) {
            Entry::Occupied(mut entry) => {
                let sum = entry.get_mut();
                add(&mut sum.record, record, sum.parts);
                sum.parts = sum.parts.saturating_add(1);
                Fate::Merged
            }
            Entry::Vacant(_) if full => Fate::Lost,
            Entry::Vacant(entry) => {
                entry.insert(Sum { record, parts: 1 });
                Fate::Kept
            }
        }
    }

    /// Takes all that waits.
    pub(crate) fn take(&mut self) -> Vec<Record> {
        let mut records = std::mem::take(&mut self.events);
        records.extend(self.sums.drain().map(|(_, sum)| sum.record));
        records
    }
}

fn key(record: &Record) -> Option<Key> {
    match record {
        Record::StreamSecond(direction, _) => Some(Key::Stream(*direction)),
        Record::FlowSecond(direction, row) => Some(Key::Flow(*direction, row.flow, row.port)),
        Record::SenderSecond(direction, _) => Some(Key::Sender(*direction)),
        Record::HostSecond(row) => Some(Key::Host(row.side)),
        Record::TcpSecond(direction, row) => Some(Key::Tcp(
            *direction,
            row.streams,
            row.stream,
            row.congestion_control.clone(),
        )),
        Record::LinkSecond(direction, _) => Some(Key::Link(*direction)),
        Record::SendSecond(..) => Some(Key::Send),
        Record::RecvSecond(row) => Some(Key::Recv(row.sender)),
        Record::FrameSecond(..) => Some(Key::Frames),
        Record::LoadSecond(row) => Some(Key::Load(row.kind.clone())),
        Record::LoadFailure(row) => Some(Key::LoadFailure(row.kind.clone(), row.cause.clone())),
        Record::ViewerSecond(..) => Some(Key::Viewers),
        Record::RttPacket(..)
        | Record::StreamBurst(..)
        | Record::FlowBurst(..)
        | Record::Silence(..)
        | Record::LossWindow(..)
        | Record::MtuProbe(..)
        | Record::FlowChange(..)
        | Record::MediaEvent(..)
        | Record::LoadMetric(..)
        | Record::LoadHistogram(..) => None,
    }
}

/// Adds a record to one of the same key that `parts` records have made so far.
fn add(sum: &mut Record, record: Record, parts: u32) {
    match (sum, record) {
        (Record::StreamSecond(_, sum), Record::StreamSecond(_, row)) => add_stream(sum, &row),
        (Record::FlowSecond(_, sum), Record::FlowSecond(_, row)) => add_flow(sum, &row),
        (Record::SenderSecond(_, sum), Record::SenderSecond(_, row)) => add_sender(sum, &row),
        (Record::HostSecond(sum), Record::HostSecond(row)) => add_host(sum, &row, parts),
        (Record::TcpSecond(_, sum), Record::TcpSecond(_, row)) => add_tcp(sum, &row),
        (Record::LinkSecond(_, sum), Record::LinkSecond(_, row)) => add_link(sum, &row),
        (Record::SendSecond(sum), Record::SendSecond(row)) => add_send(sum, &row),
        (Record::RecvSecond(sum), Record::RecvSecond(row)) => add_recv(sum, &row),
        (Record::FrameSecond(sum), Record::FrameSecond(row)) => add_frames(sum, &row),
        (Record::LoadSecond(sum), Record::LoadSecond(row)) => add_load(sum, &row),
        (Record::LoadFailure(sum), Record::LoadFailure(row)) => add_load_failure(sum, &row),
        (Record::ViewerSecond(sum), Record::ViewerSecond(row)) => add_viewers(sum, &row),
        // Equal keys mean equal kinds.
        _ => debug_assert!(false, "records of two kinds under one key"),
    }
}

/// Adds up fields, saturating: counts come from a peer that may be faulty.
macro_rules! sum_fields {
    ($sum:ident, $row:ident: $($field:ident),*) => {
        $($sum.$field = $sum.$field.saturating_add($row.$field);)*
    };
}

fn add_stream(sum: &mut StreamSecond, row: &StreamSecond) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: duration_ns, received, bytes, lost, late, duplicates, reordered, rejected);
    add_quantiles(&mut sum.owd, &row.owd);
}

fn add_flow(sum: &mut FlowSecond, row: &FlowSecond) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: received, bytes, lost, late, duplicates, reversals, sequence_breaks, bursts, socket_drops);
    sum.longest_burst = sum.longest_burst.max(row.longest_burst);
    add_quantiles(&mut sum.owd, &row.owd);
}

fn add_sender(sum: &mut SenderSecond, row: &SenderSecond) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: duration_ns, sent, bytes, sends, refused, cpu_ns);
    add_quantiles(&mut sum.schedule_error, &row.schedule_error);
}

fn add_host(sum: &mut HostSecond, row: &HostSecond, parts: u32) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: udp_rcvbuf_errors, udp_in_errors, udp_sndbuf_errors, softnet_dropped, softnet_squeezed,
        interface_rx_dropped, interface_tx_dropped);
    let mean = |so_far: f64, next: f64| so_far + (next - so_far) / (f64::from(parts) + 1.0);
    sum.cpu_busy = mean(sum.cpu_busy, row.cpu_busy);
    sum.cpu_steal = mean(sum.cpu_steal, row.cpu_steal);
    sum.cpu_weir = mean(sum.cpu_weir, row.cpu_weir);
    sum.memory_bytes = sum.memory_bytes.max(row.memory_bytes);
}

fn add_tcp(sum: &mut TcpSecond, row: &TcpSecond) {
    sum_fields!(sum, row: duration_ns, bytes, retransmits);
    // States, not counts: the later one stands.
    if row.unix_ns >= sum.unix_ns {
        sum.unix_ns = row.unix_ns;
        sum.rtt_ns = row.rtt_ns;
        sum.cwnd_bytes = row.cwnd_bytes;
    }
}

fn add_link(sum: &mut LinkSecond, row: &LinkSecond) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: duration_ns, offered, offered_bytes, delivered, delivered_bytes, dropped_too_big,
        dropped_long_packet, dropped_flow_rate, dropped_packet_rate, dropped_extra_flow, dropped_dark, dropped_loss,
        dropped_queue, duplicated, corrupted, own_losses, cpu_ns);
    sum.most_queued_bytes = sum.most_queued_bytes.max(row.most_queued_bytes);
    add_quantiles(&mut sum.lateness, &row.lateness);
}

fn add_send(sum: &mut SendSecond, row: &SendSecond) {
    sum_fields!(sum, row: duration_ns, frames, frames_skipped, sources, bytes, repairs, retransmitted, trials, refused,
        unsent, rejected, cpu_ns);
    // States, not counts: the later one stands.
    if row.unix_ns >= sum.unix_ns {
        sum.unix_ns = row.unix_ns;
        sum.receiver_rtt_ns = row.receiver_rtt_ns;
        sum.fec_sources = row.fec_sources;
        sum.fec_window = row.fec_window;
    }
}

fn add_recv(sum: &mut RecvSecond, row: &RecvSecond) {
    sum_fields!(sum, row: duration_ns, received, bytes, repairs, lost, recovered, retransmitted, overtaken, elsewhere,
        unrepaired, late, duplicates, rejected, asked, socket_drops, cpu_ns);
    if row.unix_ns >= sum.unix_ns {
        sum.unix_ns = row.unix_ns;
        sum.rtt_ns = row.rtt_ns;
    }
}

fn add_frames(sum: &mut FrameSecond, row: &FrameSecond) {
    sum_fields!(sum, row: duration_ns, frames, damaged, lost, dropped, verified, unequal);
    if row.unix_ns >= sum.unix_ns {
        sum.unix_ns = row.unix_ns;
        sum.budget_ns = row.budget_ns;
    }
    add_quantiles(&mut sum.delay, &row.delay);
    add_quantiles(&mut sum.used, &row.used);
}

fn add_load(sum: &mut LoadSecond, row: &LoadSecond) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: duration_ns, requests, failed, body_bytes, all_bytes, connections);
    add_quantiles(&mut sum.first_byte, &row.first_byte);
    add_quantiles(&mut sum.last_byte, &row.last_byte);
}

fn add_load_failure(sum: &mut LoadFailure, row: &LoadFailure) {
    sum.unix_ns = sum.unix_ns.max(row.unix_ns);
    sum_fields!(sum, row: count);
}

fn add_viewers(sum: &mut ViewerSecond, row: &ViewerSecond) {
    sum_fields!(sum, row: duration_ns, arrivals, sessions, gave_up, played_ns, stalls, stalled_ns, switches, cpu_ns);
    // A state, not a count: the later one stands.
    if row.unix_ns >= sum.unix_ns {
        sum.unix_ns = row.unix_ns;
        sum.viewers = row.viewers;
    }
    add_quantiles(&mut sum.startup, &row.startup);
    add_quantiles(&mut sum.schedule_error, &row.schedule_error);
}

/// Count, smallest and largest stay exact; a quantile of the whole lies at or below the larger of the two
/// parts' quantiles, which is what stays.
fn add_quantiles(sum: &mut Quantiles, row: &Quantiles) {
    if row.count == 0 {
        return;
    }
    if sum.count == 0 {
        *sum = *row;
        return;
    }
    sum.count = sum.count.saturating_add(row.count);
    sum.min = sum.min.min(row.min);
    sum.p50 = sum.p50.max(row.p50);
    sum.p90 = sum.p90.max(row.p90);
    sum.p99 = sum.p99.max(row.p99);
    sum.p999 = sum.p999.max(row.p999);
    sum.max = sum.max.max(row.max);
}
