//! look
use weir_simulate::networks::{Kind, draw};
use weir_simulate::observe;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let kinds: Vec<Kind> = Kind::ALL
        .into_iter()
        .filter(|k| {
            args.get(1)
                .is_none_or(|a| a == "all" || a.split(',').any(|a| format!("{k:?}") == a))
        })
        .collect();
    let from: u64 = args.get(2).map_or(0, |a| a.parse().unwrap());
    let to: u64 = args.get(3).map_or(from + 1, |a| a.parse().unwrap());
    for number in from..to {
        for kind in &kinds {
            let network = draw(*kind, 1, number);
            let dir = tempfile::tempdir_in("/dev/shm").unwrap();
            let t = std::time::Instant::now();
            match observe(&network, &dir.path().join("w.db")) {
                Err(e) => println!("{kind:?} {number}: ERROR {e}"),
                Ok(o) => {
                    println!(
                        "== {kind:?} {number}: {:?} rate {} routes {} mtu {} rtt {} us {:?}",
                        o.network.fault,
                        network.plan.format.rate(),
                        network.link.forward.routes.len(),
                        network.link.forward.mtu.bytes,
                        network.link.forward.routes[0].delay_ns / 500,
                        t.elapsed()
                    );
                    for f in &o.diagnosis.findings {
                        println!(
                            "   {:?} {:?} {:?} {}",
                            f.name, f.severity, f.direction, f.sentence
                        );
                    }
                    if let Some(r) = &o.diagnosis.recommendation {
                        println!("   >> {}", r.sentence);
                    }
                }
            }
        }
    }
}
