//! Streams in several shares: each with its own sender, receiver, flows, secrets and code; their parts joined are the frames.

use std::path::Path;

use weir_link::profile::parse;
use weir_link::{Link, LinkSpec, Nanos};
use weir_protect::Protection;
use weir_stats::{ArrivalCounters, Counters};
use weir_stream_proto::*;
use weir_wire::{MAX_FEEDBACK_LENGTH, MediaFraming, UnixNanos};

use super::world::{
    FRAME_BYTES, FRAME_NS, MS, PACKETS, PAYLOAD, Plan, SECOND, Setup, code, offer, picture, receiver_config,
    sender_config, terms,
};

/// What is changed of a sender: the flow of the stream that is dark, from when to when, and when it is killed.
#[derive(Clone, Copy, Default)]
struct Trouble {
    dark: Option<(u16, u64, u64)>,
    killed_ns: Option<u64>,
    /// A share whose packets do not arrive, from when to when.
    dark_share: Option<(u16, u64, u64)>,
    /// The frame with which it begins: its media time counts from there, and so do its formats.
    begins: u32,
}

/// A sender of a share, with its links.
struct End {
    sender: Sender,
    trouble: Trouble,
    share: u16,
    /// Its first flow.
    first: u16,
    index: SenderIndex,
    forward: Link<Vec<u8>>,
    reverse: Link<Vec<u8>>,
    pushed: u32,
}

/// A share: all its senders and its receiver.
struct Lane {
    ends: Vec<End>,
    receiver: Receiver,
    keys: FrameKeys,
}

struct Divided {
    shares: Shares,
    frames: u32,
    lanes: Vec<Lane>,
    joiner: Joiner,
    now: u64,
    /// Complete and damaged frames, and bytes missing in these.
    whole: u64,
    damaged: u64,
    missing: u64,
    next: u32,
}

fn end(setup: &Setup, (shares, share): (Shares, u16), (index, trouble): (usize, Trouble)) -> End {
    let seed = setup.seed + 1_000 * index as u64 + 100 * u64::from(share);
    let spec: LinkSpec =
        parse(&format!("seed = {seed}\n{}", setup.link), "test", Path::new(".")).expect("a link");
    let flows = shares.flows(share, setup.flows);
    let whole = sender_config(setup, index);
    let config = SenderConfig {
        secrets: shares.secrets(share, whole.secrets.clone()),
        flows: flows.len() as u16,
        ..whole
    };
    End {
        sender: Sender::new(config, trouble.begins_ns()),
        trouble,
        share,
        first: flows.start,
        index: SenderIndex::default(),
        forward: Link::forward(&spec),
        reverse: Link::reverse(&spec),
        pushed: trouble.begins,
    }
}

impl Trouble {
    fn begins_ns(&self) -> u64 {
        u64::from(self.begins) * FRAME_NS
    }
}

impl Divided {
    fn new(setup: &Setup, count: u16, troubles: &[Trouble]) -> Self {
        let shares = Shares::new(count, PAYLOAD).expect("shares");
        let lane = |share| {
            let mut lane = Lane {
                ends: Vec::new(),
                receiver: Receiver::new(receiver_config(setup)).expect("a receiver"),
                keys: FrameKeys::default(),
            };
            for (index, trouble) in troubles.iter().enumerate() {
                let mut end = end(setup, (shares, share), (index, *trouble));
                let whole = terms(setup, index);
                let terms = SenderTerms {
                    secrets: shares.secrets(share, whole.secrets.clone()),
                    flows: shares.flows(share, setup.flows).len() as u16,
                    ..whole
                };
                end.index = lane.receiver.add_sender(0, terms).expect("a sender");
                lane.keys.join(end.index, index == 0);
                lane.ends.push(end);
            }
            lane
        };
        Divided {
            shares,
            frames: (setup.for_ns / FRAME_NS) as u32,
            lanes: (0..count).map(lane).collect(),
            joiner: Joiner::new(count),
            now: 0,
            whole: 0,
            damaged: 0,
            missing: 0,
            next: 0,
        }
    }

    fn run(setup: &Setup, count: u16, troubles: &[Trouble]) -> Self {
        let mut world = Divided::new(setup, count, troubles);
        let end = setup.for_ns + setup.latency_ns + SECOND;
        while world.now < end {
            let (now, shares, frames) = (world.now, world.shares, world.frames);
            for (share, lane) in (0..).zip(&mut world.lanes) {
                for end in &mut lane.ends {
                    end.feed(now, shares.part(share, FRAME_BYTES as usize), frames);
                    end.exchange(now, &mut lane.receiver);
                }
                while let Some(given) = lane.receiver.poll_frame(now) {
                    let key = lane.keys.next(&given);
                    world.joiner.push(now, share, key, given);
                }
            }
            while let Some(joined) = world.joiner.poll(now) {
                world.take(joined);
            }
            world.now = world.next_time().clamp(now + 1, end);
        }
        world
    }

    fn next_time(&self) -> u64 {
        let lane = |lane: &Lane| {
            let ends = lane.ends.iter().filter_map(|end| end.next_time(self.now));
            ends.chain(lane.receiver.next_wake(self.now)).min()
        };
        let lanes = self.lanes.iter().filter_map(lane);
        lanes.chain(self.joiner.next_wake()).min().unwrap_or(u64::MAX)
    }

    /// Compares a frame with its picture.
    fn take(&mut self, joined: JoinedFrame) {
        if self.whole + self.damaged == 0 {
            let part = joined.parts.iter().flatten().next();
            self.next = part.map_or(0, |part| part.sender_number);
        }
        let expected = picture(self.next.into());
        let mut missing = 0;
        for (share, part) in (0..).zip(&joined.parts) {
            let range = self.shares.part(share, expected.len());
            let Some(part) = part else {
                missing += range.len() as u64;
                continue;
            };
            assert_eq!(part.sender_number, self.next, "in order");
            missing += part
                .missing
                .iter()
                .map(|it| u64::from(it.end - it.start))
                .sum::<u64>();
            if part.missing.is_empty() {
                assert!(
                    part.bytes == expected[range],
                    "frame {} of share {share}",
                    self.next
                );
            }
        }
        self.whole += u64::from(missing == 0);
        self.damaged += u64::from(missing > 0);
        self.missing += missing;
        self.next += 1;
    }

    fn seen(&self) -> ArrivalCounters {
        let mut all = ArrivalCounters::default();
        for lane in &self.lanes {
            for end in &lane.ends {
                all.add(&lane.receiver.counters(end.index));
            }
        }
        all
    }

    #[track_caller]
    fn assert_whole(&self) {
        let frames = u64::from(self.frames);
        assert_eq!(
            (self.whole, self.damaged, self.missing),
            (frames, 0, 0),
            "{:?}",
            self.seen()
        );
    }
}

impl End {
    fn is_alive(&self, now: u64) -> bool {
        now >= self.trouble.begins_ns() && self.trouble.killed_ns.is_none_or(|killed| now < killed)
    }

    fn feed(&mut self, now: u64, part: std::ops::Range<usize>, frames: u32) {
        while self.is_alive(now) && self.pushed <= frames && self.sender.wants_frame(part.len()) {
            let framing = MediaFraming {
                frame: self.pushed,
                frame_length: part.len() as u32,
                format: 1 + (self.pushed - self.trouble.begins) as u16 / 500,
                timestamp_ns: u64::from(self.pushed - self.trouble.begins) * FRAME_NS,
                ..MediaFraming::default()
            };
            if self.pushed < frames {
                let bytes = picture(self.pushed.into())[part.clone()].to_vec();
                self.sender.push_frame(now, framing, bytes);
            } else {
                let end = MediaFraming {
                    flags: MediaFraming::END,
                    frame_length: 0,
                    ..framing
                };
                self.sender.push_notice(now, end, Vec::new());
            }
            self.pushed += 1;
        }
    }

    fn is_dark(&self, now: u64, flow: u16) -> bool {
        let is = |dark: Option<(u16, u64, u64)>, which: u16| {
            dark.is_some_and(|(dark, from, to)| dark == which && (from..to).contains(&now))
        };
        is(self.trouble.dark, self.first + flow) || is(self.trouble.dark_share, self.share)
    }

    fn exchange(&mut self, now: u64, receiver: &mut Receiver) {
        let unix = UnixNanos(1_700_000_000_000_000_000 + now);
        let mut out = Vec::new();
        while self.is_alive(now) {
            self.sender.wake(now, unix, &mut out);
            if out.is_empty() {
                break;
            }
            for transmit in &out {
                let datagram = [transmit.header(), self.sender.body(transmit)].concat();
                if !self.is_dark(now, transmit.flow.0) {
                    offer(&mut self.forward, now, transmit.flow.0, datagram);
                }
            }
        }
        while let Some(mut departure) = self.forward.poll(Nanos(now)) {
            receiver.receive(now, self.index, &mut departure.packet.payload);
        }
        while let Some(mut departure) = self.reverse.poll(Nanos(now)) {
            let taken = self.sender.receive(now, unix, &mut departure.packet.payload);
            taken.expect("the receiver's feedback");
        }
        let mut feedback = [0; MAX_FEEDBACK_LENGTH];
        while let Some((flow, length)) = receiver.poll_feedback(now, self.index, &mut feedback) {
            if !self.is_dark(now, flow.0) {
                offer(&mut self.reverse, now, flow.0, feedback[..length].to_vec());
            }
        }
    }

    fn next_time(&self, now: u64) -> Option<u64> {
        let links = [&self.forward, &self.reverse].map(|link| link.next_departure().map(|at| at.0));
        let sends = self.sender.next_wake().filter(|_| self.is_alive(now));
        let begins = Some(self.trouble.begins_ns()).filter(|at| *at > now);
        links.into_iter().flatten().chain(sends).chain(begins).min()
    }
}

#[test]
fn frames_of_two_and_of_three_shares_arrive_whole() {
    for (count, protection) in [
        (2, Protection::Off),
        (2, Protection::Aes128Gcm),
        (3, Protection::ChaCha20Poly1305),
    ] {
        let setup = Setup {
            protection,
            ..Setup::default()
        };
        let world = Divided::run(&setup, count, &[Trouble::default()]);
        world.assert_whole();
        let seen = world.seen();
        // Not a packet more than of one share, but for the end of each.
        let sources = u64::from(world.frames) * u64::from(PACKETS) + u64::from(count);
        assert_eq!((seen.received, seen.lost, seen.rejected), (sources, 0, 0));
    }
}

#[test]
fn each_share_repairs_what_it_loses_by_its_own_code_or_requests() {
    for (fec, arq) in [(code(12, 96), false), (None, true), (code(12, 96), true)] {
        let setup = Setup {
            link: "rtt = \"1ms\"\nforward.loss = \"1%\"",
            fec,
            arq,
            ..Setup::default()
        };
        let world = Divided::run(&setup, 2, &[Trouble::default()]);
        world.assert_whole();
        for lane in &world.lanes {
            let seen = lane.receiver.counters(lane.ends[0].index);
            let repaired = seen.recovered + seen.retransmitted;
            // 1 % of half of 4 s at 38,000 packets per second.
            assert!(repaired > 500 && seen.unrepaired == 0, "{seen:?}");
        }
    }
}

#[test]
fn without_repair_only_what_was_lost_is_missing() {
    let setup = Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.1%\"",
        ..Setup::default()
    };
    let world = Divided::run(&setup, 2, &[Trouble::default()]);
    let seen = world.seen();
    assert_eq!(world.whole + world.damaged, u64::from(world.frames));
    // All packets but the last of each frame are as long.
    let packets = world.missing.div_ceil(PAYLOAD.into());
    assert!(
        seen.unrepaired > 50 && packets.abs_diff(seen.unrepaired) <= 2,
        "{packets} {seen:?}"
    );
}

#[test]
fn two_senders_in_shares_are_merged_share_by_share() {
    let killed = Trouble {
        killed_ns: Some(SECOND + FRAME_NS / 2),
        ..Trouble::default()
    };
    let dark = Trouble {
        dark: Some((11, 2 * SECOND, 3 * SECOND)),
        ..Trouble::default()
    };
    let setup = Setup {
        link: "rtt = \"1ms\"\nforward.loss = \"0.5%\"",
        fec: code(12, 96),
        arq: true,
        stations: vec![Plan::default(); 2],
        ..Setup::default()
    };
    Divided::run(&setup, 2, &[killed, dark]).assert_whole();
    Divided::run(&setup, 2, &[dark, killed]).assert_whole();
}

/// As of one live source whose frames are numbered by the clock: what one loses, the other brings, whichever began first.
#[test]
fn senders_that_begin_with_different_frames_are_merged_though_their_media_times_differ() {
    let later = Trouble {
        begins: 300,
        dark: Some((3, 2 * SECOND, 5 * SECOND / 2)),
        ..Trouble::default()
    };
    let dark = Trouble {
        dark: Some((11, SECOND, 3 * SECOND)),
        ..Trouble::default()
    };
    let setup = Setup {
        stations: vec![Plan::default(); 2],
        ..Setup::default()
    };
    for count in [1, 2] {
        let world = Divided::run(&setup, count, &[dark, later]);
        world.assert_whole();
        let seen = world.seen();
        assert_eq!((seen.rejected, seen.unrepaired), (0, 0), "{seen:?}");
        assert!(seen.elsewhere > 5, "{seen:?}");
    }
}

/// The first sender's first frame reaches one share and, as far as the other knows, was sent before the stream began there:
/// that share begins with the second sender.
#[test]
fn a_frame_before_those_of_all_shares_is_no_damage() {
    let late = Trouble {
        dark_share: Some((1, 0, 3 * FRAME_NS)),
        ..Trouble::default()
    };
    let second = Trouble {
        begins: 1,
        ..Trouble::default()
    };
    let setup = Setup {
        stations: vec![Plan::default(); 2],
        ..Setup::default()
    };
    let world = Divided::run(&setup, 2, &[late, second]);
    assert_eq!((world.whole, world.damaged), (u64::from(world.frames) - 1, 0));
}

#[test]
fn a_share_that_is_dark_costs_its_parts_and_delays_nothing_for_long() {
    let dark = Trouble {
        dark_share: Some((1, SECOND, 2 * SECOND)),
        ..Trouble::default()
    };
    let world = Divided::run(&Setup::default(), 2, &[dark]);
    assert_eq!(world.whole + world.damaged, u64::from(world.frames));
    let lasted = SECOND / FRAME_NS;
    assert!(
        world.damaged.abs_diff(lasted) <= 40 * MS / FRAME_NS,
        "{} of {lasted}",
        world.damaged
    );
    assert!(world.missing <= (world.damaged + 1) * u64::from(FRAME_BYTES / 2 + PAYLOAD));
}

/// Shares have the same session and the same numbers: only their keys tell them apart.
#[test]
fn a_packet_of_another_share_is_rejected() {
    for protection in [Protection::Off, Protection::Auth, Protection::Aes128Gcm] {
        let setup = Setup {
            protection,
            ..Setup::default()
        };
        let mut world = Divided::new(&setup, 2, &[Trouble::default()]);
        let part = world.shares.part(0, FRAME_BYTES as usize);
        let mut out = Vec::new();
        let [first, second] = &mut world.lanes[..] else {
            panic!("two shares");
        };
        first.ends[0].feed(0, part, 1);
        first.ends[0].sender.wake(0, UnixNanos(1), &mut out);
        assert!(!out.is_empty());
        for transmit in &out {
            let mut datagram = [transmit.header(), first.ends[0].sender.body(transmit)].concat();
            second
                .receiver
                .receive(0, second.ends[0].index, &mut datagram.clone());
            first.receiver.receive(0, first.ends[0].index, &mut datagram);
        }
        let sent = out.len() as u64;
        let counters = |lane: &Lane| lane.receiver.counters(lane.ends[0].index);
        assert_eq!((counters(first).received, counters(first).rejected), (sent, 0));
        assert_eq!((counters(second).received, counters(second).rejected), (0, sent));
    }
}
