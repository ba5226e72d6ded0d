//! A TCP test in virtual time: bulk connections with CUBIC, as hosts have it by default, over the path's link as it is when
//! nothing else uses it. Hosts are no limit.

use weir_link::discrete::Network;
use weir_link::{LinkSpec, Nanos};
use weir_measure::tcp_throughput::{TcpRequest, TcpSummary, Window};
use weir_results::{Direction, Record, TcpSecond};
use weir_tcp::{
    Algorithm, Content, HEADER_BYTES, Host, Receiver, ReceiverConfig, Sender, SenderConfig, SenderCounters,
};
use weir_units::Rate;

const SECOND_NS: u64 = 1_000_000_000;
const CONTROL: Algorithm = Algorithm::Cubic;
const CONTROL_NAME: &str = "cubic";

/// What a test found, and what it leaves in the store.
pub(crate) struct Tested {
    pub summary: TcpSummary,
    pub records: Vec<Record>,
    /// On the link's clock, nanoseconds.
    pub ended_ns: u64,
}

/// Connections in one direction.
struct Test<'a> {
    request: &'a TcpRequest,
    mss: u32,
    network: Network<Content>,
    near: Host,
    far: Host,
    start_unix_ns: u64,
    began_ns: u64,
    bytes_before: Vec<u64>,
    counters_before: Vec<SenderCounters>,
    records: Vec<Record>,
}

/// Runs a test that begins at `now_ns` on the link's clock, `start_unix_ns` at its beginning. `five_tuple` and the numbers
/// after it tell the connections apart.
pub(crate) fn run(
    link: &LinkSpec,
    request: &TcpRequest,
    five_tuple: u64,
    (start_unix_ns, now_ns): (u64, u64),
) -> Tested {
    let mut test = Test::new(link, request, five_tuple, (start_unix_ns, now_ns));
    let until_ns = now_ns + request.duration_ns;
    let mut at_ns = now_ns;
    while at_ns < until_ns && !test.is_finished() {
        let before_ns = at_ns;
        at_ns = (at_ns + SECOND_NS).min(until_ns);
        let last_ns = test.run_until(at_ns);
        if test.is_finished() {
            at_ns = last_ns;
        }
        test.close_second(before_ns, at_ns);
    }
    test.tested(at_ns)
}

impl<'a> Test<'a> {
    fn new(
        link: &LinkSpec,
        request: &'a TcpRequest,
        five_tuple: u64,
        (start_unix_ns, began_ns): (u64, u64),
    ) -> Self {
        let mss = mss(link);
        let streams = u64::from(request.streams.max(1));
        let (mut sending, mut receiving) = (Host::new(five_tuple), Host::new(five_tuple));
        for stream in 0..streams {
            let config = SenderConfig {
                mss,
                most_rate: Some(request.max_rate.0 / streams),
                seed: five_tuple.wrapping_add(stream),
                ..SenderConfig::new(CONTROL)
            };
            let mut receiver = ReceiverConfig::default();
            if let Some(bytes) = request.window_bytes {
                receiver.window = u32::try_from(bytes).unwrap_or(u32::MAX);
            }
            let mut sender = Sender::new(config, receiver.window.into());
            let share = request.max_bytes / streams + u64::from(stream < request.max_bytes % streams);
            sender.write(began_ns, share);
            sending.add_sender(sender, began_ns);
            receiving.add_receiver(Receiver::new(receiver));
        }
        let (near, far) = match request.direction {
            Direction::Forward => (sending, receiving),
            Direction::Reverse => (receiving, sending),
        };
        Test {
            request,
            mss,
            network: Network::new(link),
            near,
            far,
            start_unix_ns,
            began_ns,
            bytes_before: vec![0; streams as usize],
            counters_before: vec![SenderCounters::default(); streams as usize],
            records: Vec::new(),
        }
    }

    /// The host that sends, and the one that receives.
    fn hosts(&self) -> (&Host, &Host) {
        match self.request.direction {
            Direction::Forward => (&self.near, &self.far),
            Direction::Reverse => (&self.far, &self.near),
        }
    }

    fn is_finished(&self) -> bool {
        self.hosts()
            .0
            .senders()
            .all(|sender| sender.unacknowledged() == 0)
    }

    /// Returns the time of the last event, nanoseconds.
    fn run_until(&mut self, until_ns: u64) -> u64 {
        let mut last_ns = self.began_ns;
        while let Some(at) = self.network.step(&mut self.near, &mut self.far, Nanos(until_ns)) {
            last_ns = at.0;
        }
        last_ns
    }

    fn close_second(&mut self, from_ns: u64, to_ns: u64) {
        let (sending, receiving) = self.hosts();
        let counters: Vec<SenderCounters> = sending.senders().map(Sender::counters).collect();
        let bytes: Vec<u64> = receiving.receivers().map(Receiver::received).collect();
        let rows: Vec<Record> = sending
            .senders()
            .enumerate()
            .map(|(stream, sender)| {
                let row = TcpSecond {
                    unix_ns: self.start_unix_ns + to_ns,
                    duration_ns: to_ns - from_ns,
                    streams: self.request.streams,
                    stream: stream as u16,
                    bytes: bytes[stream] - self.bytes_before[stream],
                    retransmits: counters[stream].again - self.counters_before[stream].again,
                    rtt_ns: sender.rtt_ns().unwrap_or(0),
                    cwnd_bytes: sender.window() * u64::from(self.mss),
                    congestion_control: CONTROL_NAME.to_owned(),
                };
                Record::TcpSecond(self.request.direction, row)
            })
            .collect();
        self.records.extend(rows);
        (self.bytes_before, self.counters_before) = (bytes, counters);
    }

    /// Of the seconds that count.
    fn goodput(&self) -> Rate {
        let (mut bytes, mut elapsed_ns, mut counted_ns) = (0, 0, 0);
        for record in &self.records {
            let Record::TcpSecond(_, row) = record else {
                continue;
            };
            let counts = elapsed_ns >= self.request.omit_ns;
            bytes += if counts { row.bytes } else { 0 };
            if row.stream + 1 == self.request.streams {
                elapsed_ns += row.duration_ns;
                counted_ns += if counts { row.duration_ns } else { 0 };
            }
        }
        Rate::of(bytes, counted_ns)
    }

    fn tested(self, ended_ns: u64) -> Tested {
        let (mut retransmits, mut rtt_ns, mut windows) = (0, 0, 0);
        for sender in self.hosts().0.senders() {
            retransmits += sender.counters().again;
            rtt_ns += sender.rtt_ns().unwrap_or(0);
        }
        for record in &self.records {
            if let Record::TcpSecond(_, row) = record {
                windows = row.cwnd_bytes.max(windows);
            }
        }
        let bytes = self.bytes_before.iter().sum();
        let summary = TcpSummary {
            direction: self.request.direction,
            streams: self.request.streams,
            bytes,
            goodput: self.goodput(),
            retransmits,
            rtt_ns: rtt_ns / u64::from(self.request.streams.max(1)),
            cwnd_bytes: windows,
            congestion_control: CONTROL_NAME.to_owned(),
            hit_byte_limit: bytes >= self.request.max_bytes,
            receiver_limited: None,
            sender_limited: None,
            window: self.request.window_bytes.map(|bytes| Window {
                asked_bytes: bytes,
                announced_bytes: Some(bytes),
                send_buffer_bytes: bytes,
            }),
        };
        Tested {
            summary,
            records: self.records,
            ended_ns,
        }
    }
}

/// Payload of the longest packet that passes both ways.
fn mss(link: &LinkSpec) -> u32 {
    let mtus = [link.forward.mtu.bytes, link.reverse.mtu.bytes, link.interface_mtu];
    let smallest = mtus.into_iter().fold(u32::MAX, u32::min);
    smallest.saturating_sub(HEADER_BYTES).max(1)
}
