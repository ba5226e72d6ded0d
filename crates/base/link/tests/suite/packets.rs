//! IP packets made by `data/make_packets.py`, which shares nothing with this crate.

use std::collections::HashMap;

use weir_link::headers::{
    FlowHasher, RouterAddresses, complete_checksum, flip_bit, internet_checksum, packet_too_big,
};

const PACKETS: &str = include_str!("../data/packets.txt");

fn bytes(digits: &str) -> Vec<u8> {
    assert!(digits.len().is_multiple_of(2));
    let pair = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).expect("hexadecimal digits");
    (0..digits.len()).step_by(2).map(pair).collect()
}

/// The words after the first of all lines of a kind.
fn lines<const N: usize>(kind: &str) -> Vec<[&'static str; N]> {
    let lines = PACKETS.lines().map(|line| line.split(' ').collect::<Vec<_>>());
    let words = lines.filter(|words| words[0] == kind);
    words
        .map(|words| words[1..].try_into().expect("so many words"))
        .collect()
}

fn number(text: &str) -> usize {
    text.parse().expect("a number")
}

#[test]
fn flows_are_told_apart_by_their_5_tuple_and_by_nothing_else() {
    let lines = lines::<4>("flow");
    assert!(lines.len() > 30);
    for hasher in [FlowHasher::new(1), FlowHasher::new(u64::MAX)] {
        let (mut flows, mut pairs) = (HashMap::new(), HashMap::new());
        for [name, tuple, _, packet] in &lines {
            let key = hasher
                .flow_key(&bytes(packet))
                .unwrap_or_else(|| panic!("{name} has no flow"));
            assert_eq!(
                *flows.entry(*tuple).or_insert(key.five_tuple),
                key.five_tuple,
                "{name}"
            );
            let pair = tuple.split('/').next().expect("hosts");
            assert_eq!(
                *pairs.entry(pair).or_insert(key.host_pair),
                key.host_pair,
                "{name}"
            );
        }
        for keys in [&flows, &pairs] {
            let mut distinct: Vec<u64> = keys.values().copied().collect();
            distinct.sort_unstable();
            distinct.dedup();
            assert_eq!(distinct.len(), keys.len());
        }
        assert!(
            flows.len() >= 20 && pairs.len() == 5,
            "{} {}",
            flows.len(),
            pairs.len()
        );
    }
    let packet = bytes(lines[0][3]);
    assert_ne!(
        FlowHasher::new(1).flow_key(&packet),
        FlowHasher::new(2).flow_key(&packet)
    );
}

#[test]
fn senders_of_long_packets_are_told_and_nobody_else() {
    let router = RouterAddresses {
        ipv4: "192.0.2.254".parse().expect("an address"),
        ipv6: "2001:db8::fe".parse().expect("an address"),
    };
    let (mut answered, mut silent) = (0, 0);
    for [name, mtu, packet, answer] in lines::<4>("big") {
        let message = packet_too_big(&bytes(packet), number(mtu) as u32, &router);
        if answer == "-" {
            assert_eq!(message, None, "{name}");
            silent += 1;
        } else {
            assert_eq!(message, Some(bytes(answer)), "{name}");
            answered += 1;
        }
    }
    assert!(answered >= 9 && silent >= 20);
}

#[test]
fn partial_checksums_are_completed() {
    let lines = lines::<5>("partial");
    assert!(lines.len() >= 17);
    for [name, start, offset, partial, complete] in lines {
        let mut packet = bytes(partial);
        assert!(
            complete_checksum(&mut packet, number(start), number(offset)),
            "{name}"
        );
        assert_eq!(packet, bytes(complete), "{name}");
    }
}

#[test]
fn a_checksum_outside_the_packet_changes_nothing() {
    for (start, offset) in [
        (0, 9),
        (9, 0),
        (11, 0),
        (10, 0),
        (0, usize::MAX),
        (usize::MAX, 0),
        (5, 4),
    ] {
        let mut packet = [7; 10];
        assert!(!complete_checksum(&mut packet, start, offset), "{start} {offset}");
        assert_eq!(packet, [7; 10]);
    }
    let mut packet = [7; 10];
    assert!(complete_checksum(&mut packet, 5, 3));
}

#[test]
fn the_examples_of_rfc_1071() {
    // Section 3: the sum of these is ddf2, and in the other byte order f2dd.
    let data = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
    assert_eq!(internet_checksum(&data), !0xddf2);
    let swapped = [0x01, 0x00, 0x03, 0xf2, 0xf5, 0xf4, 0xf7, 0xf6];
    assert_eq!(internet_checksum(&swapped), !0xf2dd);
    assert_eq!(internet_checksum(&[]), 0xffff);
    assert_eq!(internet_checksum(&[0xff, 0xff]), 0);
    assert_eq!(internet_checksum(&[0x12]), !0x1200);
    // More carries than 16 bits hold.
    assert_eq!(internet_checksum(&vec![0xff; 1 << 20]), 0);
}

#[test]
fn one_bit_behind_the_ip_headers_is_flipped() {
    for [name, _, start, packet] in lines::<4>("flow") {
        let (start, before) = (number(start), bytes(packet));
        let bits = 8 * (before.len() - start);
        let mut seen = vec![false; bits];
        for random in 0..2 * bits as u64 {
            let mut packet = before.clone();
            let index = flip_bit(&mut packet, random).unwrap_or_else(|| panic!("{name} is whole"));
            let changed: Vec<(usize, u8)> = (0..packet.len())
                .map(|at| (at, packet[at] ^ before[at]))
                .filter(|(_, change)| *change != 0)
                .collect();
            let [(at, change)] = changed[..] else {
                panic!("{name}: {changed:?}")
            };
            assert!(at == index && at >= start && change.is_power_of_two(), "{name}");
            seen[8 * (at - start) + change.trailing_zeros() as usize] = true;
        }
        assert!(seen.iter().all(|seen| *seen), "{name}");
        if before.len() == start {
            assert_eq!(flip_bit(&mut before.clone(), 3), None, "{name}");
        }
    }
}

#[test]
fn flows_spread_evenly() {
    // 10,000 flows that differ in their destination port, as a test of Weir sends them, over 16 routes: the sum of
    // squares is chi-squared with 15 degrees of freedom, above 37.70 with probability 0.001.
    let template = bytes(lines::<4>("flow")[0][3]);
    for seed in 0..5 {
        let hasher = FlowHasher::new(seed);
        let mut counts = [0.0f64; 16];
        for port in 10_000u16..20_000 {
            let mut packet = template.clone();
            packet[22..24].copy_from_slice(&port.to_be_bytes());
            let key = hasher.flow_key(&packet).expect("a flow");
            counts[(key.five_tuple % 16) as usize] += 1.0;
        }
        let expected = 10_000.0 / 16.0;
        let chi_squared: f64 = counts
            .iter()
            .map(|count| (count - expected).powi(2) / expected)
            .sum();
        assert!(chi_squared < 37.70, "seed {seed}: {chi_squared}");
    }
}
