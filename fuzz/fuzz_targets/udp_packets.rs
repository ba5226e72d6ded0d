//! UDP packets: no datagram may crash a decoder, and one that is accepted encodes to the same bytes.
//!
//! The first byte says whether the tag is made right before the datagram is decoded, which lets the fuzzer
//! past it.

use weir_wire::{
    FEEDBACK_HEADER_LENGTH, FLOW_HEADER_LENGTH, FlowData, HELLO_LENGTH, Hello, HelloAck, Kind,
    MAX_FEEDBACK_LENGTH, MEDIA_HEADER_LENGTH, MTU_HEADER_LENGTH, MediaData, MediaFeedback, MediaRepair,
    MtuAck, MtuProbe, REPAIR_HEADER_LENGTH, RTT_HEADER_LENGTH, RttReply, RttRequest, SessionId, UdpKey, peek,
};

const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);

/// Round trip of feedback with its lists, as far as these fit.
fn header_length(kind: Kind, datagram: &[u8]) -> usize {
    match kind {
        Kind::MediaData => MEDIA_HEADER_LENGTH,
        Kind::MediaRepair => REPAIR_HEADER_LENGTH,
        Kind::MediaFeedback => {
            let count = |at| {
                datagram
                    .get(at..at + 2)
                    .map_or(0, |bytes| usize::from(bytes[0]) << 8 | usize::from(bytes[1]))
            };
            FEEDBACK_HEADER_LENGTH + 12 * count(48) + 6 * count(50) + 8
        }
        Kind::RttRequest | Kind::RttReply => RTT_HEADER_LENGTH,
        Kind::FlowData => FLOW_HEADER_LENGTH,
        Kind::Hello | Kind::HelloAck => HELLO_LENGTH,
        Kind::MtuProbe | Kind::MtuAck => MTU_HEADER_LENGTH,
    }
}

macro_rules! check {
    ($key:expr, $datagram:expr, $($type:ident $length:ident),*) => {
        $(
            if let Ok(packet) = $type::decode($key, SESSION, $datagram) {
                assert_eq!(peek($datagram), Ok((Kind::$type, SESSION)));
                let mut header = [0; $length];
                packet.encode($key, &mut header);
                assert_eq!(header[..], $datagram[..$length]);
            }
        )*
    };
}

fn check_feedback(key: &UdpKey, datagram: &[u8]) {
    let Ok((feedback, lists)) = MediaFeedback::decode(key, SESSION, datagram) else {
        return;
    };
    let (flows, missing): (Vec<_>, Vec<_>) = (lists.flows().collect(), lists.missing().collect());
    let mut bytes = [0; MAX_FEEDBACK_LENGTH];
    let length = feedback.encode(key, &flows, &missing, &mut bytes);
    assert_eq!(bytes[..length], datagram[..length]);
}

pub fn run(input: &[u8]) {
    let Some((&mend, datagram)) = input.split_first() else {
        return;
    };
    let key = UdpKey::new(std::array::from_fn(|index| 0x10 + index as u8));
    let mut datagram = datagram.to_vec();
    if let (1, Ok((kind, _))) = (mend & 1, peek(&datagram)) {
        let length = header_length(kind, &datagram);
        if datagram.len() >= length {
            let tag = key.tag(&datagram[..length - 8]);
            datagram[length - 8..length].copy_from_slice(&tag.to_be_bytes());
        }
    }
    check!(
        &key, &datagram,
        RttRequest RTT_HEADER_LENGTH, RttReply RTT_HEADER_LENGTH, FlowData FLOW_HEADER_LENGTH, Hello HELLO_LENGTH,
        HelloAck HELLO_LENGTH, MtuProbe MTU_HEADER_LENGTH, MtuAck MTU_HEADER_LENGTH, MediaData MEDIA_HEADER_LENGTH,
        MediaRepair REPAIR_HEADER_LENGTH
    );
    check_feedback(&key, &datagram);
}
