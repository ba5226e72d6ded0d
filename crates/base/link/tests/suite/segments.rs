//! Segmentation and merging of large packets: against the kernel's segments (`data/make_segments.py`), and against
//! themselves for packets of every kind, in any order.

use proptest::prelude::*;
use weir_link::coalesce::{Coalescer, Merging, Outgoing};
use weir_link::headers::{complete_checksum, internet_checksum};
use weir_link::offload::{Offload, Segmentation};
use weir_link::segment::{Cut, MAX_HEADER, SegmentError};

const SEGMENTS: &str = include_str!("../data/segments.txt");

const ALL: Merging = Merging { tcp: true, udp: true };

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;

/// A packet to segment, and the kernel's segments.
struct Case {
    name: &'static str,
    offload: Offload,
    packet: Vec<u8>,
    segments: Vec<Vec<u8>>,
}

fn bytes(digits: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// The file was made on a little-endian machine.
fn offload(header: &[u8]) -> Offload {
    let word = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    Offload {
        needs_checksum: header[0] == 1,
        segmentation: match header[1] {
            1 => Segmentation::Tcp4,
            4 => Segmentation::Tcp6,
            5 => Segmentation::Udp,
            other => panic!("segmentation {other}"),
        },
        header_length: word(2),
        segment_size: word(4),
        checksum_start: word(6),
        checksum_offset: word(8),
    }
}

fn cases() -> Vec<Case> {
    let cases: Vec<Case> = SEGMENTS
        .lines()
        .map(|line| {
            let mut words = line.split(' ');
            let name = words.next().expect("a name");
            let large = bytes(words.next().expect("a packet"));
            Case {
                name,
                offload: offload(&large[..10]),
                packet: large[10..].to_vec(),
                segments: words.map(bytes).collect(),
            }
        })
        .collect();
    assert_eq!(cases.len(), 14);
    cases
}

/// Segment `index` as it goes over a wire.
fn on_the_wire(cut: &Cut, packet: &[u8], index: usize) -> Vec<u8> {
    let mut header = [0; MAX_HEADER];
    let length = cut.write_header(packet, index, &mut header);
    let mut whole = [&header[..length], &packet[cut.payload(index)]].concat();
    let offload = cut.offload();
    let (start, offset) = (offload.checksum_start, offload.checksum_offset);
    assert!(complete_checksum(&mut whole, start.into(), offset.into()));
    whole
}

#[test]
fn packets_are_cut_as_the_kernel_cuts_them() {
    for case in cases() {
        let cut = Cut::of(&case.offload, &case.packet)
            .expect("a whole packet")
            .expect("to cut");
        assert_eq!(cut.count(), case.segments.len(), "{}", case.name);
        for (index, segment) in case.segments.iter().enumerate() {
            assert_eq!(
                &on_the_wire(&cut, &case.packet, index),
                segment,
                "{} {index}",
                case.name
            );
            assert_eq!(cut.length(index), segment.len(), "{} {index}", case.name);
        }
    }
}

fn joined(outgoing: &Outgoing<Vec<u8>>) -> Vec<u8> {
    [outgoing.header(), &outgoing.members().concat()].concat()
}

#[test]
fn segments_are_put_together_to_what_they_were_cut_from() {
    let mut coalescer = Coalescer::new(ALL);
    for case in cases() {
        let cut = Cut::of(&case.offload, &case.packet)
            .expect("a whole packet")
            .expect("to cut");
        for index in 0..cut.count() {
            let payload = case.packet[cut.payload(index)].to_vec();
            coalescer.push_segment(1, &cut, &case.packet, index, payload);
        }
        coalescer.finish();
        // The flag CWR says that the window was halved at exactly this packet: nothing is merged into it.
        let alone = if case.name == "tcp4-cwr" { 1 } else { 0 };
        assert_eq!(coalescer.outgoing().len(), 1 + alone, "{}", case.name);
        if alone == 0 {
            let outgoing = &coalescer.outgoing()[0];
            assert_eq!(joined(outgoing), case.packet, "{}", case.name);
            assert_eq!(outgoing.offload(), case.offload, "{}", case.name);
        }
        coalescer.clear();
    }
}

#[test]
fn flows_that_alternate_are_put_together_each_by_itself() {
    let cases = cases();
    let both: Vec<(u64, &Case, Cut)> = cases
        .iter()
        .filter(|case| ["tcp4", "udp6"].contains(&case.name))
        .map(|case| {
            (
                case.packet.len() as u64,
                case,
                Cut::of(&case.offload, &case.packet).unwrap().unwrap(),
            )
        })
        .collect();
    let mut coalescer = Coalescer::new(ALL);
    for index in 0..4 {
        for (flow, case, cut) in &both {
            let payload = case.packet[cut.payload(index)].to_vec();
            coalescer.push_segment(*flow, cut, &case.packet, index, payload);
        }
    }
    coalescer.finish();
    let whole: Vec<Vec<u8>> = coalescer.outgoing().iter().map(joined).collect();
    assert_eq!(whole, [both[0].1.packet.clone(), both[1].1.packet.clone()]);
    assert_eq!(coalescer.drain().count(), 8);
    assert_eq!(coalescer.outgoing().len(), 0);
}

/// One checksum stands for all merged packets: it must neither hide nor spread a wrong one.
#[test]
fn a_packet_with_a_wrong_checksum_stays_by_itself() {
    let cases = cases();
    let case = &cases[0];
    let cut = Cut::of(&case.offload, &case.packet).unwrap().unwrap();
    let at = usize::from(case.offload.checksum_start + case.offload.checksum_offset);
    let mut wrong = case.packet.clone();
    wrong[at] ^= 0x40;
    let mut coalescer = Coalescer::new(ALL);
    for index in 0..cut.count() {
        let packet = if index == 1 { &wrong } else { &case.packet };
        let payload = packet[cut.payload(index)].to_vec();
        coalescer.push_segment(1, &cut, packet, index, payload);
    }
    coalescer.finish();
    let members: Vec<usize> = coalescer
        .outgoing()
        .iter()
        .map(|outgoing| outgoing.members().len())
        .collect();
    assert_eq!(members[..2], [1, 1]);
    assert_eq!(members.iter().sum::<usize>(), cut.count());
    let field = &coalescer.outgoing()[1].header()[at..at + 2];
    assert_eq!(
        field[0] & 0x40,
        !coalescer.outgoing()[0].header()[at] & 0x40,
        "as it was"
    );
}

#[test]
fn without_merging_every_segment_leaves_by_itself() {
    let cases = cases();
    let case = &cases[0];
    let cut = Cut::of(&case.offload, &case.packet).unwrap().unwrap();
    let mut coalescer = Coalescer::new(Merging {
        tcp: false,
        udp: true,
    });
    for index in 0..cut.count() {
        coalescer.push_segment(
            1,
            &cut,
            &case.packet,
            index,
            case.packet[cut.payload(index)].to_vec(),
        );
    }
    coalescer.finish();
    for (outgoing, segment) in coalescer.outgoing().iter().zip(&case.segments) {
        let mut whole = joined(outgoing);
        let offload = outgoing.offload();
        complete_checksum(
            &mut whole,
            offload.checksum_start.into(),
            offload.checksum_offset.into(),
        );
        assert_eq!(&whole, segment);
    }
}

#[test]
fn headers_that_contradict_their_packet_are_refused() {
    let cases = cases();
    let case = &cases[0];
    let refused = |change: &dyn Fn(&mut Offload), packet: &[u8]| {
        let mut offload = case.offload;
        change(&mut offload);
        Cut::of(&offload, packet).expect_err("a contradiction")
    };
    let whole = &case.packet;
    assert_eq!(refused(&|_| (), &whole[..whole.len() - 1]), SegmentError::NotIp);
    assert_eq!(refused(&|_| (), &[]), SegmentError::NotIp);
    let contradictions: [&dyn Fn(&mut Offload); 5] = [
        &|offload| offload.segment_size = 0,
        &|offload| offload.segmentation = Segmentation::Tcp6,
        &|offload| offload.segmentation = Segmentation::Udp,
        &|offload| offload.checksum_offset = 6,
        &|offload| offload.needs_checksum = false,
    ];
    for change in contradictions {
        assert_eq!(refused(change, whole), SegmentError::Contradiction);
    }
    // A header that reaches into the transport's.
    let mut options = whole.clone();
    options[0] = 0x4f;
    assert_eq!(refused(&|_| (), &options), SegmentError::BadTransport);
    for start in [0, 19, 500, u16::MAX] {
        assert_eq!(
            refused(&|offload| offload.checksum_start = start, whole),
            SegmentError::BadTransport,
            "{start}"
        );
    }
}

/// A packet of a flow, as the kernel passes it: partial checksum, no segmentation.
#[derive(Clone, Debug)]
struct Made {
    v6: bool,
    tcp: bool,
    port: u16,
    payload: usize,
    flags: u8,
    /// Added to the sequence number that would continue the flow.
    sequence_step: u32,
    identification_step: u16,
    dont_fragment: bool,
    acknowledgement: u32,
}

fn made() -> impl Strategy<Value = Made> {
    let flags = prop_oneof![
        12 => Just(ACK), 2 => Just(ACK | PSH), 1 => Just(ACK | FIN), 1 => Just(SYN),
        1 => Just(ACK | 0x80), 1 => Just(ACK | 0x40)
    ];
    let step = |often: u32| prop_oneof![often => Just(0_u32), 1 => 1..5_u32];
    let kind = (any::<bool>(), any::<bool>(), 0..3_u16);
    (
        kind,
        prop_oneof![8 => Just(100_usize), 1 => 0..140_usize],
        flags,
        step(12),
        step(12),
        any::<bool>(),
        step(20),
    )
        .prop_map(
            |(
                (v6, tcp, port),
                payload,
                flags,
                sequence_step,
                identification,
                dont_fragment,
                acknowledgement,
            )| {
                Made {
                    v6,
                    tcp,
                    port,
                    payload,
                    flags,
                    sequence_step,
                    identification_step: identification as u16,
                    dont_fragment,
                    acknowledgement,
                }
            },
        )
}

/// Writes packets out with counters for each flow.
#[derive(Default)]
struct Maker {
    flows: std::collections::HashMap<u64, (u32, u16)>,
}

impl Maker {
    fn flow(made: &Made) -> u64 {
        u64::from(made.port) * 4 + u64::from(made.v6) * 2 + u64::from(made.tcp)
    }

    fn packet(&mut self, made: &Made) -> (Offload, Vec<u8>) {
        let (sequence, identification) = self
            .flows
            .entry(Self::flow(made))
            .or_insert((u32::MAX - 300, u16::MAX - 3));
        let mut transport = Vec::new();
        transport.extend_from_slice(&made.port.to_be_bytes());
        transport.extend_from_slice(&9_u16.to_be_bytes());
        let (protocol, at) = if made.tcp {
            *sequence = sequence.wrapping_add(made.sequence_step);
            transport.extend_from_slice(&sequence.to_be_bytes());
            transport.extend_from_slice(&made.acknowledgement.to_be_bytes());
            transport.extend_from_slice(&[5 << 4, made.flags, 1, 0, 0, 0, 0, 0]);
            *sequence = sequence.wrapping_add(made.payload as u32);
            (6, 16)
        } else {
            transport.extend_from_slice(&((8 + made.payload) as u16).to_be_bytes());
            transport.extend_from_slice(&[0, 0]);
            (17, 6)
        };
        let length = (transport.len() + made.payload) as u16;
        let addresses = if made.v6 { vec![0xfd; 32] } else { vec![10; 8] };
        let pseudo = [&addresses[..], &[0, protocol], &length.to_be_bytes()].concat();
        let partial = !internet_checksum(&pseudo);
        transport[at..at + 2].copy_from_slice(&partial.to_be_bytes());
        let mut ip = if made.v6 {
            [&[0x60, 0, 0, 0][..], &length.to_be_bytes(), &[protocol, 64]].concat()
        } else {
            *identification = identification.wrapping_add(1 + made.identification_step);
            let flags = if made.dont_fragment { 0x40 } else { 0 };
            let lengths = [(20 + length).to_be_bytes(), identification.to_be_bytes()].concat();
            [&[0x45, 0][..], &lengths, &[flags, 0, 64, protocol, 0, 0]].concat()
        };
        ip.extend_from_slice(&addresses);
        if !made.v6 {
            let checksum = internet_checksum(&ip);
            ip[10..12].copy_from_slice(&checksum.to_be_bytes());
        }
        let offload = Offload {
            needs_checksum: true,
            segmentation: Segmentation::None,
            header_length: (ip.len() + transport.len()) as u16,
            segment_size: 0,
            checksum_start: ip.len() as u16,
            checksum_offset: at as u16,
        };
        let payload: Vec<u8> = (0..made.payload).map(|index| index as u8).collect();
        (offload, [ip, transport, payload].concat())
    }
}

/// The allowed difference: the identification of packets that may not be fragmented has no meaning (RFC 6864), and with
/// it the header's checksum.
fn comparable(mut packet: Vec<u8>) -> Vec<u8> {
    if packet[0] >> 4 == 4 && packet[6] & 0x40 != 0 {
        packet[4..6].fill(0);
        packet[10..12].fill(0);
    }
    packet
}

proptest! {
    /// Merged packets can be segmented into the same packets again, in the order of each flow.
    #[test]
    fn putting_together_loses_nothing(packets in proptest::collection::vec(made(), 1..120)) {
        let mut maker = Maker::default();
        let mut coalescer = Coalescer::new(ALL);
        let mut sent: std::collections::BTreeMap<u64, Vec<Vec<u8>>> = Default::default();
        for made in &packets {
            let (offload, packet) = maker.packet(made);
            let cut = Cut::of(&offload, &packet).unwrap().unwrap();
            prop_assert_eq!(cut.count(), 1);
            let flow = Maker::flow(made);
            sent.entry(flow).or_default().push(comparable(on_the_wire(&cut, &packet, 0)));
            coalescer.push_segment(flow, &cut, &packet, 0, (flow, packet[cut.payload(0)].to_vec()));
        }
        coalescer.finish();
        let mut arrived: std::collections::BTreeMap<u64, Vec<Vec<u8>>> = Default::default();
        for outgoing in coalescer.outgoing() {
            let payload: Vec<u8> = outgoing.members().iter().flat_map(|(_, payload)| payload.clone()).collect();
            let large = [outgoing.header(), &payload].concat();
            let cut = Cut::of(&outgoing.offload(), &large).unwrap().unwrap();
            prop_assert_eq!(cut.count(), outgoing.members().len());
            let flow = outgoing.members()[0].0;
            prop_assert!(outgoing.members().iter().all(|(other, _)| *other == flow));
            for index in 0..cut.count() {
                let packet = comparable(on_the_wire(&cut, &large, index));
                prop_assert_eq!(packet.len(), cut.length(index));
                arrived.entry(flow).or_default().push(packet);
            }
        }
        prop_assert_eq!(arrived, sent);
    }

    /// Plain sequences are merged: the purpose of merging.
    #[test]
    fn a_stretch_of_equal_packets_leaves_in_as_few_writes_as_may_be(
        v6: bool, tcp: bool, count in 1..200_usize
    ) {
        let plain = Made {
            v6, tcp, port: 1, payload: 1000, flags: ACK, sequence_step: 0, identification_step: 0,
            dont_fragment: true, acknowledgement: 0,
        };
        let mut maker = Maker::default();
        let mut coalescer = Coalescer::new(ALL);
        for _ in 0..count {
            let (offload, packet) = maker.packet(&plain);
            let cut = Cut::of(&offload, &packet).unwrap().unwrap();
            coalescer.push_segment(1, &cut, &packet, 0, ());
        }
        coalescer.finish();
        // At most 64 packets and 65,535 bytes.
        prop_assert_eq!(coalescer.outgoing().len(), count.div_ceil(64));
    }

    /// Any input from a device is segmented or refused.
    #[test]
    fn arbitrary_bytes_never_panic(header: [u8; 10], packet in proptest::collection::vec(any::<u8>(), 0..400)) {
        if let Ok(offload) = Offload::decode(&header)
            && let Ok(Some(cut)) = Cut::of(&offload, &packet)
        {
            for index in 0..cut.count() {
                on_the_wire(&cut, &packet, index);
            }
        }
    }
}
