//! `weir mesh probe`: started by `weir mesh run` on a host; all measurements of one pair as one result.

use std::cell::RefCell;

use crate::args::{GlobalOptions, ProbeArgs};
use serde_json::json;
use weir_control::Family;
use weir_measure::flows::{self, FlowsPlan, FlowsWays};
use weir_measure::path_mtu::{self, SEARCH_BYTES};
use weir_measure::rtt::{self, RttPlan, RttSummary, Span};
use weir_measure::tcp_throughput::{self, TcpRequest, TcpSummary};
use weir_measure::{AgentAddress, Session, Sink, Stop, VideoFormat};
use weir_mesh::estimate::TestShape;
use weir_net::clock;
use weir_net::host::HostFacts;
use weir_results::{Direction, MeshTest, Record};
use weir_units::{FrameRate, Rate};

use super::super::output::print;
use super::super::run_store::json as to_json;
use super::super::{Failure, connect, tables};

/// Packets per window, bytes per packet, and window interval: about 100 packets per second, each one a sample.
const WINDOW: u32 = 1;
const LENGTH: u32 = 100;
const INTERVAL_NS: u64 = 20_000_000;
/// UDP payload of the media test, which fits every path.
const MEDIA_LENGTH: u32 = 1_200;
/// Packets of the media test are sent one by one at rates of compressed video, and at higher rates in bursts of those
/// due in this time, so that uneven arrival is caused by the network and not by whole frames sent at once.
const MEDIA_BURST_NS: u64 = 100_000;
const MOST_TOGETHER: u64 = 128;
/// Frame rate of the media test, that of television.
const FRAMES: FrameRate = FrameRate {
    numerator: 50,
    denominator: 1,
};

/// Keeps the RTT of each packet, because the summary has neither mean nor P95.
#[derive(Default)]
struct Rtts(RefCell<Vec<u64>>);

impl Sink for Rtts {
    fn record(&self, record: Record) {
        if let Record::RttPacket(packet) = record {
            self.0.borrow_mut().extend(packet.rtt_ns);
        }
    }
}

/// Runs the measurements and prints the result.
pub fn run(args: &ProbeArgs, global: &GlobalOptions) -> Result<(), Failure> {
    let stop = crate::commands::signals::stop_on_signals()?;
    let agent = AgentAddress {
        host: args.host.clone(),
        family: Family::Any,
        token: connect::token(args.token_file.as_deref())?,
    };
    let mut session = Session::connect(&agent)?;
    let test = measure(&mut session, &super::plan::shape(&args.shape), &stop)?;
    if stop.is_set() {
        return Err(Failure::environment("the test was interrupted"));
    }
    if global.json {
        print(&format!("{}\n", to_json(&test)))
    } else {
        print(&format!("{}\n", tables::mesh_result("here", &args.host, &test)))
    }
}

fn measure(session: &mut Session, shape: &TestShape, stop: &Stop) -> Result<MeshTest, Failure> {
    let mut test = MeshTest {
        unix_ns: clock::unix_ns(),
        source: "weir".into(),
        details: json!({
            "from_instance": HostFacts::read(Some(session.address().ip())).instance.instance_type,
            "to_instance": session.remote_host.instance.instance_type,
        }),
        ..MeshTest::default()
    };
    let sink = Rtts::default();
    if shape.max_bytes >= SEARCH_BYTES {
        let mtu = path_mtu::run(session, &sink, stop)?;
        test.details["path_mtu"] = to_json(&mtu);
        test.bytes = mtu.most_bytes();
    }
    let plan = RttPlan {
        window: Span::fixed(WINDOW),
        length: Span::fixed(LENGTH),
        interval_ns: INTERVAL_NS,
        duration_ns: shape.rtt_ns,
        over_ns: shape.rtt_ns,
        ..RttPlan::default()
    };
    let summary = rtt::run(session, &plan, &sink, stop)?;
    take_rtt(&mut test, &summary, sink.0.into_inner());
    test.bytes += 2 * plan.volume().1;
    // UDP before TCP, because its volume is small and known.
    if shape.udp_ns > 0 {
        udp(session, shape, stop, &mut test)?;
    }
    for streams in [1, shape.streams] {
        let wanted = shape.tcp_ns > 0 && (streams > 1 || test.tcp_bps.is_none());
        let left = shape.max_bytes.saturating_sub(test.bytes);
        // The first of two tests leaves half of the bytes for the second.
        let share = if streams == 1 && shape.streams > 1 {
            left / 2
        } else {
            left
        };
        if wanted && share > 0 && !stop.is_set() {
            tcp(session, shape, streams, share, stop, &mut test)?;
        }
    }
    Ok(test)
}

fn take_rtt(test: &mut MeshTest, summary: &RttSummary, mut rtts: Vec<u64>) {
    rtts.sort_unstable();
    let quantile = |share: f64| {
        let at = (share * rtts.len() as f64).ceil() as usize;
        rtts.get(at.saturating_sub(1)).copied()
    };
    test.rtt_count = rtts.len() as u64;
    test.rtt_min_ns = rtts.first().copied();
    test.rtt_p50_ns = quantile(0.5);
    test.rtt_p95_ns = quantile(0.95);
    test.rtt_max_ns = rtts.last().copied();
    test.rtt_mean_ns = (!rtts.is_empty())
        .then(|| (rtts.iter().map(|rtt| u128::from(*rtt)).sum::<u128>() / rtts.len() as u128) as u64);
    test.rtt_jitter_ns = (!rtts.is_empty()).then_some(summary.jitter_ns.max(0.0) as u64);
    test.details["rtt_loss"] = json!(summary.loss);
    test.details["clock"] = to_json(&summary.clock);
}

fn udp(session: &mut Session, shape: &TestShape, stop: &Stop, test: &mut MeshTest) -> Result<(), Failure> {
    let plan = FlowsPlan {
        format: VideoFormat::of_rate(Rate(shape.udp_bps), FRAMES),
        length: MEDIA_LENGTH,
        burst: Some(media_burst(shape.udp_bps)),
        flows: 1,
        ways: FlowsWays::Forward,
        duration_ns: shape.udp_ns,
        ..FlowsPlan::default()
    };
    let left = shape.max_bytes.saturating_sub(test.bytes);
    let summary = flows::run(session, &plan, left, &Rtts::default(), stop)?;
    if let Some(error) = summary.aborted() {
        return Err(error.into());
    }
    let Some(forward) = summary.forward else {
        return Ok(());
    };
    test.bytes += forward.sent * u64::from(forward.length);
    test.udp_bps = Some(forward.rate.0);
    test.udp_sent = Some(forward.sent);
    test.udp_loss = Some(forward.loss);
    test.udp_reordered = Some(forward.receiver.reordered);
    let flow = forward.receiver.per_flow.first();
    test.udp_jitter_ns = flow
        .filter(|flow| flow.counts.received > 1)
        .map(|flow| flow.jitter_ns);
    let delays = &forward.receiver.owd;
    if delays.count > 0 {
        test.udp_pdv_ns = u64::try_from(delays.p99 - delays.min).ok();
    }
    Ok(())
}

/// Burst length of the media test, in packets.
fn media_burst(rate_bps: u64) -> u32 {
    let bytes = Rate(rate_bps).bytes_in(MEDIA_BURST_NS);
    (bytes / u64::from(MEDIA_LENGTH)).clamp(1, MOST_TOGETHER) as u32
}

fn tcp(
    session: &mut Session,
    shape: &TestShape,
    streams: u16,
    max_bytes: u64,
    stop: &Stop,
    test: &mut MeshTest,
) -> Result<(), Failure> {
    let request = TcpRequest {
        direction: Direction::Forward,
        streams,
        duration_ns: shape.tcp_ns,
        max_rate: session.limits.max_rate,
        max_bytes,
        window_bytes: shape.window_bytes,
        omit_ns: 0,
    };
    let TcpSummary {
        bytes,
        goodput,
        retransmits,
        rtt_ns,
        cwnd_bytes,
        congestion_control,
        hit_byte_limit,
        window,
        ..
    } = tcp_throughput::run(session, &request, &Rtts::default(), stop)?;
    test.bytes += bytes;
    if streams > 1 {
        test.tcp_streams = Some(streams.into());
        test.tcp_streams_bps = Some(goodput.0);
        test.tcp_streams_retransmits = Some(retransmits);
        test.tcp_streams_rtt_ns = Some(rtt_ns);
        test.tcp_streams_cwnd_bytes = Some(cwnd_bytes);
        test.details["streams_hit_byte_limit"] = json!(hit_byte_limit);
        test.details["streams_window"] = to_json(&window);
        return Ok(());
    }
    test.tcp_bps = Some(goodput.0);
    test.tcp_retransmits = Some(retransmits);
    test.tcp_rtt_ns = Some(rtt_ns);
    test.tcp_cwnd_bytes = Some(cwnd_bytes);
    test.congestion_control = Some(congestion_control);
    test.details["hit_byte_limit"] = json!(hit_byte_limit);
    test.details["window"] = to_json(&window);
    Ok(())
}
