//! A household's session with one pace: servers, line and home from the first request until the title is played and its
//! length is over. It must not know other households.

use weir_link::discrete::Network;
use weir_link::{FlowAccount, Link, Nanos};
use weir_pacing::Burst;
use weir_player::Outcome;
use weir_record::{HouseholdNeighbour, HouseholdSession};
use weir_stats::DurationHistogram;
use weir_tcp::{Receiver, ReceiverConfig, Sender, SenderConfig};

use crate::PopulationError;
use crate::downloads::{Downloaded, Downloads};
use crate::file::{Grants, NeighbourKind, Variant};
use crate::home::{Home, User};
use crate::household::{Household, Present};
use crate::packets::{Content, five_tuple};
use crate::servers::Servers;
use crate::spread_text::word;
use crate::viewer::Viewer;

/// A session that has not ended after this multiple of the length of its title ends there.
const MOST_LENGTHS: u64 = 3;
/// A packet of a call that was sent before the end of the title still counts if it arrives within this time.
const VOICE_EVERY_NS: u64 = 20_000_000;

/// What a session gave.
#[derive(Clone, Debug, PartialEq)]
pub struct Played {
    /// The viewer, the media connection and the line.
    pub session: HouseholdSession,
    /// Each neighbour.
    pub neighbours: Vec<HouseholdNeighbour>,
}

/// The world of a session.
struct World {
    servers: Servers,
    home: Home,
    /// Connection of each neighbour that has one.
    connections: Vec<Option<usize>>,
    /// Of connections while they are paced.
    most_burst: Option<u32>,
}

/// Line towards the home at the end of the title.
#[derive(Default)]
struct Queue {
    byte_ns: u128,
    dropped: u64,
    marked: u64,
    media: FlowAccount,
    /// Of each neighbour.
    neighbours: Vec<FlowAccount>,
}

impl Queue {
    fn new(line: &Link<Content>, connections: &[Option<usize>]) -> Self {
        let counters = line.counters();
        let flow = |connection: Option<usize>| line.flow_account(five_tuple(connection));
        Queue {
            byte_ns: counters.queued_byte_ns,
            dropped: counters.dropped.queue,
            marked: counters.marked,
            media: flow(Some(0)),
            neighbours: connections.iter().copied().map(flow).collect(),
        }
    }
}

/// Plays a session. `unix_ns` is the start of the run, for its records.
///
/// # Errors
/// A queue of the variant that the link language refuses on this line.
pub fn play(
    household: &Household,
    variant: &Variant,
    grants: Grants,
    unix_ns: u64,
) -> Result<Played, PopulationError> {
    let household = &*household.with(variant)?;
    let length_ns = u64::try_from(household.length.as_nanos()).unwrap_or(u64::MAX / MOST_LENGTHS);
    let mut world = World::new(household, variant, grants, length_ns);
    let mut network = Network::new(&household.link);
    network.account_flows();
    let mut queue = None;
    let mut now_ns = 0;
    while let Some(at) = network.step(
        &mut world.servers,
        &mut world.home,
        Nanos(length_ns * MOST_LENGTHS),
    ) {
        now_ns = at.0;
        if queue.is_none() && now_ns >= length_ns {
            queue = Some(Queue::new(network.forward(), &world.connections));
        }
        let is_over = world.home.viewer().is_some_and(|viewer| viewer.ended.is_some());
        if is_over && now_ns >= length_ns {
            break;
        }
    }
    let queue = queue.unwrap_or_default();
    Ok(Played {
        neighbours: world.neighbours(household, variant, (unix_ns, length_ns), &queue.neighbours),
        session: world.session(household, variant, now_ns, (unix_ns, length_ns), &queue),
    })
}

impl World {
    fn new(household: &Household, variant: &Variant, grants: Grants, length_ns: u64) -> Self {
        let mut world = World {
            servers: Servers::default(),
            home: Home::default(),
            connections: Vec::new(),
            most_burst: match variant.pace_burst {
                Burst::Packets(packets) => Some(packets),
                // What `auto` bounds are the kernel's bursts on round trips below 2 ms, which this TCP does not have.
                Burst::Auto | Burst::Kernel => None,
            },
        };
        let mut settings = household.settings.clone();
        settings.pace = variant.pace;
        let grants = match (grants, variant.pace_factor) {
            (Grants::Bounds { .. }, Some(factor)) => Grants::Bounds { factor },
            (grants, _) => grants,
        };
        let viewer = Viewer::new(settings, &household.manifest, grants);
        world.connect(household, User::Viewer(Box::new(viewer)), 0, 0);
        for present in &household.neighbours {
            let connection = match &present.kind {
                NeighbourKind::Call => {
                    world.servers.call(length_ns);
                    None
                }
                NeighbourKind::Downloads { bytes, pause } => {
                    let draws = present.draws.clone();
                    let downloads = Downloads::new((bytes, pause), draws, present.from_ns, length_ns);
                    let user = User::Downloads(Box::new(downloads));
                    Some(world.connect(household, user, present.place + 1, present.from_ns))
                }
            };
            world.connections.push(connection);
        }
        world
    }

    fn connect(&mut self, household: &Household, user: User, place: usize, from_ns: u64) -> usize {
        let algorithm = household.congestion.algorithm;
        let receiver = ReceiverConfig::default();
        let config = SenderConfig {
            seed: household.seed.wrapping_add(place as u64),
            ecn: household.congestion.ecn,
            most_burst: self.most_burst,
            ..SenderConfig::new(algorithm)
        };
        self.servers.add(Sender::new(config, receiver.window.into()));
        self.home.add(Receiver::new(receiver), user, from_ns)
    }

    fn session(
        &self,
        household: &Household,
        variant: &Variant,
        now_ns: u64,
        (unix_ns, length_ns): (u64, u64),
        queue: &Queue,
    ) -> HouseholdSession {
        let counters = self.servers.counters(0);
        let trips = self.servers.trips(0);
        let mut session = HouseholdSession {
            unix_ns,
            household: household.number,
            variant: variant.name.clone(),
            rate: household.line.rates.0,
            up_rate: household.line.rates.1,
            rtt_ns: household.line.rtt_ns,
            queue: word(&household.line.queue).to_owned(),
            congestion: household.congestion.name.to_owned(),
            device: household.device.clone(),
            abr: household.abr.clone(),
            length_ns,
            packets: counters.packets,
            retransmitted: counters.again,
            smoothed_rtt_mean_ns: trips.mean().map_or(0, |mean| mean as u64),
            smoothed_rtt_p95_ns: trips.quantile(0.95).map_or(0, |quantile| quantile as u64),
            queue_mean_bytes: (queue.byte_ns / u128::from(length_ns.max(1))) as u64,
            queue_dropped: queue.dropped,
            queue_marked: queue.marked,
            media_sojourn_mean_ns: mean_ns(&queue.media.sojourns),
            media_sojourn_p99_ns: quantile_ns(&queue.media.sojourns, 0.99),
            media_dropped: queue.media.dropped,
            media_marked: queue.media.marked,
            ..HouseholdSession::default()
        };
        if let Some(viewer) = self.home.viewer() {
            put_viewer(viewer, now_ns, &mut session);
        }
        session
    }

    fn neighbours(
        &self,
        household: &Household,
        variant: &Variant,
        (unix_ns, length_ns): (u64, u64),
        flows: &[FlowAccount],
    ) -> Vec<HouseholdNeighbour> {
        let connections = self.connections.iter().zip(flows);
        let neighbours = household.neighbours.iter().zip(connections);
        let row = |(present, (connection, flow)): (&Present, (&Option<usize>, &FlowAccount))| {
            let row = HouseholdNeighbour {
                unix_ns,
                household: household.number,
                variant: variant.name.clone(),
                neighbour: present.name.clone(),
                sojourn_mean_ns: mean_ns(&flow.sojourns),
                sojourn_p50_ns: quantile_ns(&flow.sojourns, 0.5),
                sojourn_p99_ns: quantile_ns(&flow.sojourns, 0.99),
                dropped: flow.dropped,
                marked: flow.marked,
                ..HouseholdNeighbour::default()
            };
            match connection.and_then(|connection| self.home.downloads(connection)) {
                None => self.call(row, length_ns),
                Some(downloads) => downloaded(row, &downloads.done),
            }
        };
        neighbours.map(row).collect()
    }

    fn call(&self, row: HouseholdNeighbour, length_ns: u64) -> HouseholdNeighbour {
        let (all, beside) = (&self.home.voice, &self.home.voice_beside);
        HouseholdNeighbour {
            kind: "call".to_owned(),
            count: all.count(),
            lost: length_ns.div_ceil(VOICE_EVERY_NS).saturating_sub(all.count()),
            time_mean_ns: mean_ns(all),
            time_quantile_ns: quantile_ns(all, 0.95),
            beside_time_mean_ns: mean_ns(beside),
            ..row
        }
    }
}

fn mean_ns(times: &DurationHistogram) -> Option<u64> {
    times.mean().map(|mean| mean as u64)
}

fn quantile_ns(times: &DurationHistogram, share: f64) -> Option<u64> {
    times.quantile(share).map(|quantile| quantile as u64)
}

fn put_viewer(viewer: &Viewer, now_ns: u64, session: &mut HouseholdSession) {
    let figures = viewer.figures(now_ns);
    let ns = |time: std::time::Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let mut rates: Vec<u64> = viewer
        .fetches
        .iter()
        .map(|fetch| rate(fetch.bytes, fetch.took_ns))
        .collect();
    rates.sort_unstable();
    session.finished = viewer
        .ended
        .is_some_and(|(outcome, _)| outcome == Outcome::Played);
    session.segments = rates.len() as u64;
    session.throughput = rates.get(rates.len() / 2).copied().unwrap_or(0);
    session.fetching_ns = viewer.fetching_ns(now_ns);
    session.startup_ns = figures.startup_delay.map(ns);
    session.stalls = u64::from(figures.stalls);
    session.stalled_ns = ns(figures.stalled);
    session.played_ns = ns(figures.played);
    session.bitrate = figures.bitrate.map_or(0, |rate| rate.0);
    session.first_20_s_bitrate = figures.first_20_s_bitrate.map_or(0, |rate| rate.0);
    session.switches = u64::from(figures.switches);
    session.pace = viewer.pace;
    session.capacity = figures.capacity.map(|rate| rate.0);
}

/// Bits per second.
fn rate(bytes: u64, ns: u64) -> u64 {
    let bits = u128::from(bytes) * 8 * 1_000_000_000;
    u64::try_from(bits / u128::from(ns.max(1))).unwrap_or(u64::MAX)
}

fn downloaded(row: HouseholdNeighbour, done: &[Downloaded]) -> HouseholdNeighbour {
    let of = |some: &[Downloaded]| {
        let took_ns: u64 = some.iter().map(|one| one.took_ns).sum();
        let bytes: u64 = some.iter().map(|one| one.bytes).sum();
        let is_some = !some.is_empty();
        (
            is_some.then(|| took_ns / some.len() as u64),
            is_some.then(|| rate(bytes, took_ns)),
        )
    };
    let beside: Vec<Downloaded> = done
        .iter()
        .copied()
        .filter(|one| 2 * one.beside_ns >= one.took_ns)
        .collect();
    let mut times: Vec<u64> = done.iter().map(|one| one.took_ns).collect();
    times.sort_unstable();
    let (time_mean_ns, throughput) = of(done);
    let (beside_time_mean_ns, beside_throughput) = of(&beside);
    HouseholdNeighbour {
        kind: "downloads".to_owned(),
        count: done.len() as u64,
        time_mean_ns,
        time_quantile_ns: times.get(times.len() / 2).copied(),
        beside_time_mean_ns,
        throughput,
        beside_throughput,
        ..row
    }
}
