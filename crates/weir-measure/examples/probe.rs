use weir_measure::flows::*;
use weir_measure::*;
use weir_wire::Token;
struct S;
impl Sink for S {
    fn record(&self, _: weir_results::Record) {}
    fn progress(&self, p: Progress) {
        eprintln!("{} lost {}", BitRate(p.rate), p.lost);
    }
}
fn main() {
    let a: Vec<String> = std::env::args().collect();
    if a[1] == "agent" {
        let c = agent::AgentConfig {
            listen: vec![],
            port: 4747,
            udp_ports: 4750..=4849,
            token: Token::new(b"x".to_vec()),
            open: false,
            limits: Limits {
                max_rate: BitRate(100_000_000_000),
                ..Limits::default()
            },
            stamp_port: None,
            stamp_key: None,
        };
        agent::Agent::bind(c, Stop::default()).unwrap().run();
        return;
    }
    let mut s = Session::connect(&AgentAddress {
        host: a[2].clone(),
        family: Family::Any,
        token: Token::new(b"x".to_vec()),
    })
    .unwrap();
    let st = Stop::default();
    match a[1].as_str() {
        "flows" => {
            let mut p = FlowsPlan {
                length: a[3].parse().unwrap(),
                flows: a[4].parse().unwrap(),
                duration_ns: a[6].parse::<u64>().unwrap() * 1_000_000_000,
                ..FlowsPlan::default()
            };
            if a[5] == "max" {
                p.unpaced = true
            } else {
                p.format = VideoFormat::named(&a[5]).unwrap()
            }
            if let Ok(b) = std::env::var("BURST") {
                p.burst = Some(b.parse().unwrap())
            }
            if std::env::var("REV").is_ok() {
                p.ways = FlowsWays::Reverse
            }
            if std::env::var("BOTH").is_ok() {
                p.ways = FlowsWays::Both
            }
            if std::env::var("NOGSO").is_ok() {
                p.segment = false
            }
            if std::env::var("NOGRO").is_ok() {
                p.merge = false
            }
            let r = flows::run(&mut s, &p, u64::MAX, &S, &st).unwrap();
            for d in [r.forward, r.reverse].into_iter().flatten() {
                println!(
                    "rate {} sent {} recv {} lost {} late {} dup {} reord {} attr {:?} gso {} gro {} ppb {:.1} rcvbuf {} send cpu {:.3} recv cpu {:.3} sched p50 {} p99 {} max {} owd p50 {} p99 {} max {}",
                    d.rate,
                    d.sent,
                    d.received,
                    d.lost,
                    d.receiver.late,
                    d.receiver.duplicates,
                    d.receiver.reordered,
                    d.attribution,
                    d.segmented,
                    d.receiver.merged_receive,
                    d.receiver.packets_per_buffer,
                    d.receiver.receive_buffer,
                    d.sender_cpu_ns as f64 / d.sender_wall_ns as f64,
                    d.receiver.receiver_cpu_ns as f64 / d.receiver.receiver_wall_ns as f64,
                    d.schedule_error.p50,
                    d.schedule_error.p99,
                    d.schedule_error.max,
                    d.receiver.owd.p50,
                    d.receiver.owd.p99,
                    d.receiver.owd.max
                );
            }
        }
        "rtt" => {
            let r = rtt::run(
                &mut s,
                &rtt::RttPlan {
                    interval_ns: 100_000_000,
                    duration_ns: 3_000_000_000,
                    ..Default::default()
                },
                &S,
                &st,
            )
            .unwrap();
            println!("{}", serde_json::to_string(&r).unwrap());
        }
        "mtu" => {
            println!("{:?}", path_mtu::run(&mut s, &S, &st).unwrap());
        }
        "tcp" => {
            for d in [weir_results::Direction::Forward, weir_results::Direction::Reverse] {
                println!(
                    "{:?}",
                    tcp_throughput::run(
                        &mut s,
                        &tcp_throughput::TcpRequest {
                            direction: d,
                            streams: 4,
                            duration_ns: 3_000_000_000,
                            max_rate: BitRate(u64::MAX),
                            max_bytes: u64::MAX
                        },
                        &S,
                        &st
                    )
                    .unwrap()
                );
            }
        }
        _ => {}
    }
}
