//! Makes a day of measurements, 16 flows and a round-trip test, and a report of it; says how long and how large.
//!
//! `cargo run --release -p weir-report --example day -- day.db` keeps `day.db`, which a second call reads again, and
//! writes `day.html` beside it. The rows are such as a path with thin loss on half of its flows would leave, with one
//! outage of 0.7 s on one flow; they are made by a fixed seed and measured by nobody.

use std::error::Error;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{RngCore, SeedableRng};
use serde_json::json;
use weir_diagnose::Options;
use weir_measure::flows::FlowsPlan;
use weir_measure::rtt::RttPlan;
use weir_report::{PAGE, report_data, write_page};
use weir_results::*;
use weir_stats::{FlowCounts, HostCounts, Quantiles, SendCounts};

const SECONDS: u64 = 86_400;
const SECOND_NS: u64 = 1_000_000_000;
const START: u64 = 1_795_200_000 * SECOND_NS;
const FLOWS: u16 = 16;
/// A second of a flow: 2.5 Gbit/s of 8952 bytes over 16 flows.
const PACKETS: f64 = 2_182.0;
const PAYLOAD: u64 = 8_952;
/// When the outage is, second of the day, and on which flow.
const OUTAGE: (u64, u16) = (50_000, 5);
/// Packets of a window of the round-trip test, one a second.
const WINDOW: u64 = 10;

/// Random numbers with the shapes that are needed here.
struct Noise(Xoshiro256PlusPlus);

impl Noise {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, mean 0 and deviation 1: a sum of twelve.
    fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.unit()).sum::<f64>() - 6.0
    }

    /// At least `least`, with a tail of mean `mean`.
    fn above(&mut self, least: f64, mean: f64) -> i64 {
        (least - mean * (1.0 - self.unit()).ln()) as i64
    }

    fn quantiles(&mut self, count: u64, least: f64, mean: f64) -> Quantiles {
        let min = self.above(least, mean / 50.0);
        let p50 = min + self.above(mean * 0.6, mean / 10.0);
        let p90 = p50 + self.above(mean, mean / 5.0);
        let p99 = p90 + self.above(mean * 2.0, mean);
        let p999 = p99 + self.above(mean, mean * 2.0);
        let max = p999 + self.above(mean, mean * 8.0);
        Quantiles {
            count,
            min,
            p50,
            p90,
            p99,
            p999,
            max,
        }
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let path: PathBuf = std::env::args_os().nth(1).ok_or("usage: day FILE.db")?.into();
    let mut out = io::stdout().lock();
    if !path.exists() {
        let began = Instant::now();
        make(&path)?;
        writeln!(out, "made {} in {:.1?}", path.display(), began.elapsed())?;
    }
    let store = Store::open_read_only(&path)?;
    let mut runs: Vec<RunId> = store
        .runs(&RunFilter::default())?
        .iter()
        .map(|run| run.id)
        .collect();
    runs.reverse();
    for run in &runs {
        let rows: Vec<String> = store
            .counts(*run)?
            .iter()
            .filter(|(_, count)| *count > 0)
            .map(|(table, count)| format!("{count} {table}"))
            .collect();
        writeln!(out, "run {run}: {}", rows.join(", "))?;
    }
    let began = Instant::now();
    for run in &runs {
        let loaded = Instant::now();
        weir_diagnose::diagnose(&weir_diagnose::load(&store, *run)?);
        writeln!(out, "diagnosis of run {run} alone: {:.2?}", loaded.elapsed())?;
    }
    let diagnosed = began.elapsed();
    let began = Instant::now();
    let data = report_data(
        &store,
        &runs,
        START + 2 * SECONDS * SECOND_NS,
        &Options::default(),
    )?;
    let read = began.elapsed();
    let written = Instant::now();
    let report = path.with_extension("html");
    write_page(PAGE, &data, BufWriter::new(File::create(&report)?))?;
    for run in &data.runs {
        for (name, series) in &run.series {
            let entries = series
                .columns
                .first()
                .map_or(0, |(_, column)| column.values.len());
            let bytes = serde_json::to_vec(series)?.len();
            writeln!(
                out,
                "run {} {name}: {} rows in {entries} entries, bins of {:?} ns, {} left out, {bytes} bytes of JSON",
                run.run.id, series.rows, series.bin_ns, series.left_out
            )?;
        }
    }
    writeln!(
        out,
        "document in {read:.2?} (diagnosis {diagnosed:.2?} of it), {} bytes of JSON; page in {:.2?}, {} bytes: {}",
        serde_json::to_vec(&data)?.len(),
        written.elapsed(),
        std::fs::metadata(&report)?.len(),
        report.display()
    )?;
    Ok(())
}

fn make(path: &Path) -> Result<(), Box<dyn Error>> {
    let mut store = Store::open(path)?;
    let mut noise = Noise(Xoshiro256PlusPlus::seed_from_u64(16));
    let duration_ns = SECONDS * SECOND_NS;
    let rtt_plan = serde_json::to_value(RttPlan {
        duration_ns,
        ..RttPlan::default()
    })?;
    let rtt = begin(&store, "rtt", rtt_plan)?;
    for second in 0..SECONDS {
        store_some(&mut store, rtt, second, |records| {
            rtt_second(&mut noise, second, records)
        })?;
    }
    end(&store, rtt)?;
    let flows_plan = serde_json::to_value(FlowsPlan {
        duration_ns,
        flows: FLOWS,
        length: PAYLOAD as u32,
        ..FlowsPlan::default()
    })?;
    let flows = begin(&store, "flows", flows_plan)?;
    let mut sequences = Sequences::default();
    for second in 0..SECONDS {
        store_some(&mut store, flows, second, |records| {
            flows_second(&mut noise, second, &mut sequences, records);
        })?;
    }
    end(&store, flows)?;
    Ok(())
}

fn begin(store: &Store, kind: &str, parameters: serde_json::Value) -> Result<RunId, StoreError> {
    store.begin_run(&NewRun {
        kind: kind.into(),
        target: "far.example.net".into(),
        parameters,
        local_host: json!({ "name": "near", "mtu": 9000 }),
        started_unix_ns: START,
        weir_version: env!("CARGO_PKG_VERSION").into(),
        ..NewRun::default()
    })
}

fn end(store: &Store, run: RunId) -> Result<(), StoreError> {
    let ended = START + SECONDS * SECOND_NS;
    store.end_run(run, Outcome::Finished, None, ended, &serde_json::Value::Null)
}

thread_local! {
    static WAITING: std::cell::RefCell<Vec<Record>> = const { std::cell::RefCell::new(Vec::new()) };
}

/// Stores ten minutes at a time.
fn store_some(
    store: &mut Store,
    run: RunId,
    second: u64,
    fill: impl FnOnce(&mut Vec<Record>),
) -> Result<(), StoreError> {
    WAITING.with_borrow_mut(|records| {
        fill(records);
        if second % 600 == 599 {
            store.append(run, records)?;
            records.clear();
        }
        Ok(())
    })
}

fn rtt_second(noise: &mut Noise, second: u64, records: &mut Vec<Record>) {
    // Busier by day than by night.
    let busy = 1.0 + (second as f64 / SECONDS as f64 * std::f64::consts::TAU).sin() / 2.0;
    for position in 0..WINDOW {
        let lost = noise.unit() < 2e-5;
        let network = noise.above(95_000.0 + 800.0 * position as f64, 9_000.0 * busy);
        let hosts = noise.above(60_000.0, 15_000.0);
        let value = |ns: i64| (!lost).then_some(ns.unsigned_abs());
        records.push(Record::RttPacket(RttPacket {
            sequence: second * WINDOW + position,
            window: second,
            position: position as u32,
            window_size: WINDOW as u32,
            length: 100 + (second % 80 * 100) as u32,
            sent_unix_ns: START + second * SECOND_NS + position * 2_000,
            rtt_ns: value(network + hosts),
            network_rtt_ns: value(network),
            owd_forward_ns: (!lost).then_some(network / 2),
            owd_reverse_ns: (!lost).then_some(network - network / 2),
            delta_ttl: (!lost).then_some(0),
            lost,
            duplicates: 0,
        }));
    }
}

#[derive(Default)]
struct Sequences {
    flows: [u64; FLOWS as usize],
    received: [u64; FLOWS as usize],
    bursts: [u64; FLOWS as usize],
    stream: u64,
}

fn flows_second(noise: &mut Noise, second: u64, sequences: &mut Sequences, records: &mut Vec<Record>) {
    use Direction::Forward;
    let jitter = noise.above(20_000.0, 30_000.0).unsigned_abs();
    let (began, unix_ns) = (
        START + second * SECOND_NS,
        START + (second + 1) * SECOND_NS + jitter,
    );
    let mut stream = StreamSecond {
        unix_ns,
        duration_ns: SECOND_NS + noise.above(0.0, 20_000.0).unsigned_abs(),
        ..StreamSecond::default()
    };
    for flow in 0..FLOWS {
        let at = usize::from(flow);
        let sent = (PACKETS + 3.0 * noise.normal()) as u64;
        let mut lost = 0;
        let mut bursts: Vec<u64> = Vec::new();
        if flow < FLOWS / 2 {
            let thin = u64::from(noise.unit() < PACKETS * 2e-5);
            lost += thin;
            bursts.extend((thin > 0).then_some(thin));
        }
        if (second, flow) == OUTAGE {
            let outage = (PACKETS * 0.7) as u64;
            lost += outage;
            bursts.push(outage);
            records.push(Record::Silence(
                Forward,
                Silence {
                    unix_ns: began + SECOND_NS / 10,
                    flow,
                    duration_ns: 700_000_000,
                },
            ));
        }
        for length in &bursts {
            let noticed = began + (noise.unit() * 1e9) as u64;
            burst(noticed, flow, *length, sequences, records);
        }
        let reversals = u64::from(noise.unit() < 1e-4);
        let received = sent - lost.min(sent);
        sequences.flows[at] += sent;
        sequences.received[at] += received;
        sequences.stream += sent;
        stream.received += received;
        stream.lost += lost;
        let owd = noise.quantiles(received, 48_000.0 + 1_500.0 * f64::from(flow % 4), 9_000.0);
        records.push(Record::FlowSecond(
            Forward,
            FlowSecond {
                unix_ns,
                flow,
                port: 4750 + flow,
                owd,
                counts: FlowCounts {
                    received,
                    bytes: received * PAYLOAD,
                    lost,
                    late: 0,
                    duplicates: 0,
                    reversals,
                    sequence_breaks: bursts.len() as u64 + 2 * reversals,
                    bursts: bursts.len() as u64,
                    longest_burst: bursts.iter().copied().max().unwrap_or(0),
                    ..FlowCounts::default()
                },
            },
        ));
    }
    stream.bytes = stream.received * PAYLOAD;
    stream.owd = noise.quantiles(stream.received, 48_000.0, 9_000.0);
    sender_second(noise, unix_ns, &stream, records);
    records.push(Record::StreamSecond(Forward, stream));
    host_seconds(noise, unix_ns, records);
}

/// The records of a burst lost on a flow.
fn burst(noticed: u64, flow: u16, length: u64, sequences: &mut Sequences, records: &mut Vec<Record>) {
    use Direction::Forward;
    let at = usize::from(flow);
    sequences.bursts[at] += 1;
    records.push(Record::FlowBurst(
        Forward,
        FlowBurst {
            unix_ns: noticed,
            flow,
            port: 4750 + flow,
            first_sequence: sequences.flows[at] + 100,
            length,
            received_before: sequences.received[at],
            bytes_before: sequences.received[at] * PAYLOAD,
            bursts_before: sequences.bursts[at],
        },
    ));
    // In the stream the packets of one flow stand apart.
    records.extend((0..length).map(|lost| {
        let burst = StreamBurst {
            unix_ns: noticed,
            first_sequence: sequences.stream + lost * u64::from(FLOWS),
            length: 1,
        };
        Record::StreamBurst(Forward, burst)
    }));
    records.push(Record::LossWindow(
        Forward,
        LossWindow {
            unix_ns: noticed / 100_000_000 * 100_000_000,
            duration_ns: 100_000_000,
            lost: length,
            flows_losing: 1,
            flows: vec![flow],
        },
    ));
}

fn sender_second(noise: &mut Noise, unix_ns: u64, stream: &StreamSecond, records: &mut Vec<Record>) {
    let sent = stream.received + stream.lost;
    records.push(Record::SenderSecond(
        Direction::Forward,
        SenderSecond {
            unix_ns: unix_ns - 40_000,
            duration_ns: SECOND_NS + noise.above(0.0, 20_000.0).unsigned_abs(),
            counts: SendCounts {
                sent,
                bytes: sent * PAYLOAD,
                sends: sent / 7,
                refused: 0,
            },
            schedule_error: noise.quantiles(sent / 7, 200.0, 4_000.0),
            cpu_ns: noise.above(180_000_000.0, 9_000_000.0).unsigned_abs(),
        },
    ));
}

fn host_seconds(noise: &mut Noise, unix_ns: u64, records: &mut Vec<Record>) {
    for side in [Side::Local, Side::Remote] {
        records.push(Record::HostSecond(HostSecond {
            unix_ns: unix_ns + 1_000,
            side,
            counts: HostCounts {
                softnet_squeezed: u64::from(noise.unit() < 0.02),
                ..HostCounts::default()
            },
            // The kernel counts in hundredths of a second.
            cpu_busy: (60.0 + 5.0 * noise.normal()).round() / 100.0,
            cpu_steal: (2.0 * noise.unit()).floor() / 100.0,
            cpu_weir: (30.0 + 2.0 * noise.normal()).round() / 100.0,
            cpu_softirq: (12.0 + noise.normal()).round() / 100.0,
            cpu_softirq_core: (9.0 + noise.normal()).round() / 100.0,
            memory_bytes: 24_000_000 + noise.above(0.0, 8.0).unsigned_abs() * 4_096,
        }));
    }
}
