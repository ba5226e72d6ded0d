//! Bytes that are not packets. `tests/suite/packets.rs` compares valid packets with the output of a script.

use std::net::{Ipv4Addr, Ipv6Addr};

use proptest::prelude::*;

use super::*;
use crate::packet::Ecn;

const ROUTER: RouterAddresses = RouterAddresses {
    ipv4: Ipv4Addr::new(192, 0, 2, 254),
    ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe),
};

#[test]
fn what_is_no_ip_packet_has_no_flow() {
    let hasher = FlowHasher::new(1);
    let mut short4 = [0; 20];
    short4[0] = 0x44;
    let mut long4 = [0; 20];
    long4[0] = 0x46;
    let cut4 = [0x45; 19];
    let cut6 = [0x60; 39];
    let version5 = [0x55; 60];
    for packet in [&[][..], &short4, &long4, &cut4, &cut6, &version5] {
        assert_eq!(hasher.flow_key(packet), None);
        assert_eq!(packet_too_big(packet, 1400, &ROUTER), None);
        assert_eq!(flip_bit(&mut packet.to_vec(), 5), None);
    }
}

#[test]
fn padding_is_not_part_of_a_packet() {
    // A total length of 21 in 60 bytes.
    let mut packet = [0; 60];
    packet[..4].copy_from_slice(&[0x45, 0, 0, 21]);
    for random in 0..100 {
        assert_eq!(flip_bit(&mut packet.clone(), random), Some(20));
    }
    // Without a length, as the kernel has large packets, to the end.
    packet[3] = 0;
    assert_eq!(flip_bit(&mut packet.clone(), 8 * 39), Some(59));
}

/// Bytes that start like IP packets.
fn packets() -> impl Strategy<Value = Vec<u8>> {
    let headers = [
        protocol::HOP_BY_HOP,
        protocol::FRAGMENT,
        protocol::AUTHENTICATION,
        protocol::UDP,
        protocol::ICMPV6,
    ];
    let byte = prop_oneof![any::<u8>(), prop::sample::select(headers.to_vec())];
    let first = prop::sample::select(vec![0x45, 0x46, 0x4f, 0x60, 0x00]);
    (first, prop::collection::vec(byte, 0..200)).prop_map(|(first, rest)| [vec![first], rest].concat())
}

#[test]
fn a_mark_keeps_the_header_checksum_right() {
    // RFC 1071: the sum over a header with its checksum is 0xffff.
    let mut packet = [
        0x45, 0xb9, 0x05, 0xdc, 0x12, 0x34, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    let checksum = internet_checksum(&packet);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
    assert_eq!(ecn(&packet), Ecn::Ect1);
    for _ in 0..2 {
        assert!(mark_ce(&mut packet));
        assert_eq!((ecn(&packet), packet[1]), (Ecn::Ce, 0xbb));
        assert_eq!(internet_checksum(&packet), 0);
    }
    let mut packet = [0x60; 40];
    (packet[0], packet[1]) = (0x6a, 0x21);
    assert_eq!(ecn(&packet), Ecn::Ect0);
    assert!(mark_ce(&mut packet));
    assert_eq!((packet[0], packet[1], ecn(&packet)), (0x6a, 0x31, Ecn::Ce));
    assert!(!mark_ce(&mut [0x45; 19]) && !mark_ce(&mut [0x60; 39]) && !mark_ce(&mut []));
    assert_eq!(ecn(&[0x4f; 19]), Ecn::NotEct);
}

proptest! {
    #[test]
    fn nothing_panics_and_messages_are_well_formed(packet in packets(), random: u64, mtu: u32, start in 0usize..250, offset in 0usize..250) {
        let _ = FlowHasher::new(random).flow_key(&packet);
        let mut marked = packet.clone();
        if mark_ce(&mut marked) {
            prop_assert_eq!(ecn(&marked), Ecn::Ce);
            if packet[0] >> 4 == 4 {
                let (before, after) = (internet_checksum(&packet[..20]), internet_checksum(&marked[..20]));
                // The two zeros of one's complement are equal.
                prop_assert_eq!(before % 0xffff, after % 0xffff);
            }
        } else {
            prop_assert_eq!(&marked, &packet);
        }
        let mut spoilt = packet.clone();
        if flip_bit(&mut spoilt, random).is_some() {
            prop_assert_ne!(&spoilt, &packet);
        }
        let mut completed = packet.clone();
        if complete_checksum(&mut completed, start, offset) {
            prop_assert!(start + offset + 2 <= packet.len());
        } else {
            prop_assert_eq!(&completed, &packet);
        }
        if let Some(message) = packet_too_big(&packet, mtu, &ROUTER) {
            let header = if packet[0] >> 4 == 4 { 28 } else { 48 };
            prop_assert!(packet.starts_with(&message[header..]));
            // No message is sent about such a packet.
            prop_assert_eq!(packet_too_big(&message, mtu, &ROUTER), None);
        }
    }
}
