//! IP headers: no packet may panic their readers; messages to senders are packets that quote the packet, have right
//! checksums and are never answered themselves; one bit is flipped, and behind the fixed header.
//!
//! The first eight bytes choose the bit, the MTU and the place of a checksum, the rest is the packet.

use std::net::{Ipv4Addr, Ipv6Addr};

use weir_link::Ecn;
use weir_link::headers::{
    FlowHasher, RouterAddresses, complete_checksum, ecn, flip_bit, internet_checksum, mark_ce, packet_too_big,
};

const ROUTER: RouterAddresses = RouterAddresses {
    ipv4: Ipv4Addr::new(192, 0, 2, 254),
    ipv6: Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0xfe),
};

fn check_message(packet: &[u8], message: &[u8]) {
    if message[0] >> 4 == 4 {
        assert!(message.len() <= 576);
        assert_eq!(
            usize::from(u16::from_be_bytes([message[2], message[3]])),
            message.len()
        );
        assert_eq!(message[16..20], packet[12..16]);
        // Over data with a right checksum, the checksum is 0.
        assert_eq!(
            (
                internet_checksum(&message[..20]),
                internet_checksum(&message[20..])
            ),
            (0, 0)
        );
        assert!(packet.starts_with(&message[28..]));
    } else {
        assert!(message.len() <= 1280);
        let length = u16::from_be_bytes([message[4], message[5]]);
        assert_eq!(usize::from(length) + 40, message.len());
        assert_eq!(message[24..40], packet[8..24]);
        let pseudo = [
            &message[8..40],
            &[0, 0],
            &length.to_be_bytes(),
            &[0, 0, 0, 58],
            &message[40..],
        ]
        .concat();
        assert_eq!(internet_checksum(&pseudo), 0);
        assert!(packet.starts_with(&message[48..]));
    }
}

pub fn run(input: &[u8]) {
    let Some((choice, packet)) = input.split_first_chunk() else {
        return;
    };
    let random = u64::from_be_bytes(*choice);
    let flow = FlowHasher::new(7).flow_key(packet);
    if let Some(message) = packet_too_big(packet, random as u32, &ROUTER) {
        assert!(flow.is_some());
        check_message(packet, &message);
        assert_eq!(packet_too_big(&message, 1280, &ROUTER), None);
    }

    let mut marked = packet.to_vec();
    if mark_ce(&mut marked) {
        assert_eq!(ecn(&marked), Ecn::Ce);
        assert_eq!(marked.len(), packet.len());
    } else {
        assert_eq!((marked.as_slice(), ecn(packet)), (packet, Ecn::NotEct));
    }

    let mut spoilt = packet.to_vec();
    let flipped = flip_bit(&mut spoilt, random);
    let changed: Vec<usize> = (0..packet.len())
        .filter(|at| packet[*at] != spoilt[*at])
        .collect();
    assert_eq!(changed, Vec::from_iter(flipped));
    if let Some(at) = flipped {
        assert!(at >= if packet[0] >> 4 == 4 { 20 } else { 40 });
        assert!((packet[at] ^ spoilt[at]).is_power_of_two());
    }

    let (start, offset) = (usize::from(choice[0]), usize::from(choice[1]));
    let mut completed = packet.to_vec();
    let done = complete_checksum(&mut completed, start, offset);
    assert_eq!(done, start + offset + 2 <= packet.len());
    if !done {
        assert_eq!(completed, packet);
    }
}
