//! Networks with several faults, drawn at random: surveyed across the link in real time, they are diagnosed as in virtual time.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use weir_diagnose::{Diagnosis, FindingName, Severity, diagnose, load};
use weir_lab::{FAR_IPV4, Host, Lab};
use weir_results::{Direction, RunId, Store};
use weir_rig::{isolated, path as scratch, see_own_processes, weir};
use weir_simulate::networks::{Draw, Fault, Network};
use weir_simulate::{HostModel, observe};

const SEED: u64 = 1_732_050_807;
const NETWORKS: usize = 12;
/// Hosts, link and measurement share two cores, which carry no more for sure.
const FASTEST: u64 = 260_000_000;
/// As `weir lab run` has it.
const LATEST_NS: u64 = 1_000_000;
/// A survey of 16 flows takes a minute or two.
const LIMIT: Duration = Duration::from_secs(600);

/// Findings about the network, not about hosts, which are models in virtual time and this machine in real time.
const OF_THE_NETWORK: [FindingName; 8] = [
    FindingName::RouteLoss,
    FindingName::LossProcess,
    FindingName::FiveTupleIgnored,
    FindingName::FlowRateCap,
    FindingName::PacketRateCap,
    FindingName::Congestion,
    FindingName::PayloadCliff,
    FindingName::UnexplainedLoss,
];

/// Whether all of its faults are the link's, whenever it is measured: an outage is planted into a step's virtual time.
fn is_of_the_link(network: &Network) -> bool {
    let is_of_the_link = |fault: &Fault| {
        matches!(
            fault,
            Fault::RouteLoss { .. }
                | Fault::IndependentLoss { .. }
                | Fault::BurstLoss { .. }
                | Fault::FiveTupleIgnored { .. }
                | Fault::FlowRateCap { .. }
                | Fault::PacketRateCap { .. }
                | Fault::Congestion { .. }
                | Fault::PayloadCliff { .. }
        )
    };
    network.plan.format.rate().0 <= FASTEST && network.faults().all(is_of_the_link)
}

/// Surveys a network across the link in real time.
fn in_real_time(network: &Network, database: &str) -> Diagnosis {
    let mut lab = Lab::start(&network.link).expect("a link");
    let address = FAR_IPV4.to_string();
    let mut agent = weir(&["agent", "--open", "--quiet", "--json", "--listen", &address]);
    agent.stdin(Stdio::null()).stdout(Stdio::piped());
    let mut agent = lab.spawn(Host::Far, agent).expect("an agent");
    let mut listens = String::new();
    let said = agent.take_stdout().expect("its output");
    BufReader::new(said).read_line(&mut listens).expect("a line");
    let (rate, step) = (network.plan.format.rate().0, network.plan.step_ns);
    let options = format!(
        "--rate {rate}bit/s --step {step}ns --max-flows {}",
        network.plan.max_flows
    );
    let line = format!("survey {address} {options} --quiet --db {database}");
    let mut survey = weir(&line.split(' ').collect::<Vec<_>>());
    survey.stdin(Stdio::null()).stdout(Stdio::null());
    let mut survey = lab.spawn(Host::Near, survey).expect("a survey");
    let ended = survey.wait_for(LIMIT).expect("a process").expect("its end");
    assert!(ended.success(), "{ended}");
    lab.progress().expect("a link that carries");
    let (_, account) = lab.stop().expect("an account");
    // Where a machine is too busy for the link, this is why a network differs.
    println!("  link    {:?}", account.fitness(LATEST_NS));
    let store = Store::open(Path::new(database)).expect("a database");
    diagnose(&load(&store, RunId(1)).expect("the survey"))
}

fn in_virtual_time(network: &Network, database: &str) -> Diagnosis {
    let usual = Network {
        near: HostModel::default(),
        far: HostModel::default(),
        ..network.clone()
    };
    observe(&usual, Path::new(database)).expect("a survey").diagnosis
}

type Said = BTreeMap<(FindingName, Option<Direction>), Option<f64>>;

/// What is said of the network, with the rate at which each limit holds.
fn said(diagnosis: &Diagnosis) -> Said {
    let findings = diagnosis.findings.iter();
    let serious = findings.filter(|finding| finding.severity >= Severity::Notice);
    let of_the_network = serious.filter(|finding| OF_THE_NETWORK.contains(&finding.name));
    of_the_network
        .map(|finding| {
            let mut evidence = finding.evidence.iter();
            let held = evidence.find(|evidence| evidence.what == "held at");
            let rate = held.and_then(|evidence| evidence.value.as_f64());
            ((finding.name, finding.direction), rate)
        })
        .collect()
}

/// The same is said, limits within 10 %. Where the queue of a full path is shorter than a burst, its rate shows in the spacing of
/// packets alone, which a link in real time does not keep: one side may not know it.
fn agree(real: &Said, simulated: &Said) -> bool {
    let alike =
        |((finding, one), other): ((&(FindingName, _), &Option<f64>), &Option<f64>)| match (one, other) {
            (Some(one), Some(other)) => (one / other - 1.0).abs() < 0.1,
            (None, None) => true,
            _ => finding.0 == FindingName::Congestion,
        };
    real.keys().eq(simulated.keys()) && real.iter().zip(simulated.values()).all(alike)
}

#[test]
fn networks_with_several_faults_are_diagnosed_in_real_time_as_in_virtual_time() {
    isolated!(heavy);
    see_own_processes();
    let of_number =
        |number| [2, 3].map(|faults| (faults, number, Draw::Several(faults).network(SEED, number)));
    let drawn = (0..).flat_map(of_number).filter(|drawn| is_of_the_link(&drawn.2));
    let mut different = Vec::new();
    for (number, (count, first, network)) in drawn.take(NETWORKS).enumerate() {
        let faults: Vec<_> = network.faults().collect();
        // As `diagnosis_table` names it.
        println!(
            "{number}: --kind {count} --first {first}, {faults:?}, {:?}",
            network.link.forward.mtu
        );
        let real = said(&in_real_time(&network, &scratch(&format!("real-{number}.db"))));
        let simulated = said(&in_virtual_time(
            &network,
            &scratch(&format!("virtual-{number}.db")),
        ));
        println!("  real    {real:?}\n  virtual {simulated:?}");
        if !agree(&real, &simulated) {
            different.push(number);
        }
    }
    assert!(different.is_empty(), "networks {different:?} differ");
}
