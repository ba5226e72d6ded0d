//! UDP packets: no datagram may crash a decoder, and one that is accepted encodes to the same bytes.
//!
//! The first byte says whether the tag is made right before the datagram is decoded, which lets the fuzzer
//! past it.

use weir_protect::{Opener, Protection, Sealer, Secret, StreamSecrets};
use weir_wire::{
    FLOW_HEADER_LENGTH, FlowData, HELLO_LENGTH, Hello, HelloAck, Kind, MAX_FEEDBACK_LENGTH,
    MEDIA_HEADER_LENGTH, MTU_HEADER_LENGTH, MediaData, MediaFeedback, MediaRepair, MtuAck, MtuProbe,
    REPAIR_HEADER_LENGTH, RTT_HEADER_LENGTH, RttReply, RttRequest, SessionId, UdpKey, peek,
};

const SESSION: SessionId = SessionId(0x1122_3344_5566_7788);

/// The receiver's, whose feedback is not sealed, so that the fuzzer can write it.
fn secrets() -> StreamSecrets {
    StreamSecrets::new(Protection::Off, Secret::new([1; 32]), Secret::new([2; 32]))
}

/// The bytes under the tag and the tag.
fn header_length(kind: Kind, datagram: &[u8]) -> usize {
    match kind {
        Kind::MediaData => MEDIA_HEADER_LENGTH,
        Kind::MediaRepair => REPAIR_HEADER_LENGTH,
        // All of it.
        Kind::MediaFeedback => datagram.len(),
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

/// The same for packets whose key depends on the key epoch.
macro_rules! check_sealed {
    ($key:expr, $datagram:expr, $($type:ident $length:ident),*) => {
        $(
            if let Ok(packet) = $type::decode(|_| Some(*$key), SESSION, $datagram) {
                assert_eq!(peek($datagram), Ok((Kind::$type, SESSION)));
                let mut header = [0; $length];
                packet.encode($key, &mut header);
                assert_eq!(header[..], $datagram[..$length]);
            }
        )*
    };
}

/// Round trip of feedback with its lists.
fn check_feedback(datagram: &[u8]) {
    let mut opened = datagram.to_vec();
    let mut opener = Opener::new(&secrets().of_other_end());
    let Ok((feedback, lists)) = MediaFeedback::decode(&mut opener, 0, SESSION, &mut opened) else {
        return;
    };
    let (flows, missing): (Vec<_>, Vec<_>) = (lists.flows().collect(), lists.missing().collect());
    let mut bytes = [0; MAX_FEEDBACK_LENGTH];
    let length = feedback.encode(&mut Sealer::new(&secrets()), &flows, &missing, &mut bytes);
    let length = length.expect("a new sealer");
    // Without a seal its tag says nothing, and is written as zeros.
    let end = length - 24;
    assert_eq!(bytes[..end], datagram[..end]);
    assert_eq!(length, datagram.len());
}

pub fn run(input: &[u8]) {
    let Some((&mend, datagram)) = input.split_first() else {
        return;
    };
    let key = UdpKey::new(std::array::from_fn(|index| 0x10 + index as u8));
    let of_feedback = *Sealer::new(&secrets()).present_header_key();
    let mut datagram = datagram.to_vec();
    if let (1, Ok((kind, _))) = (mend & 1, peek(&datagram)) {
        let length = header_length(kind, &datagram);
        if datagram.len() >= length && length >= 8 {
            let key = if kind == Kind::MediaFeedback {
                &of_feedback
            } else {
                &key
            };
            let tag = key.tag(&datagram[..length - 8]);
            datagram[length - 8..length].copy_from_slice(&tag.to_be_bytes());
        }
    }
    check!(
        &key, &datagram,
        RttRequest RTT_HEADER_LENGTH, RttReply RTT_HEADER_LENGTH, FlowData FLOW_HEADER_LENGTH, Hello HELLO_LENGTH,
        HelloAck HELLO_LENGTH, MtuProbe MTU_HEADER_LENGTH, MtuAck MTU_HEADER_LENGTH
    );
    check_sealed!(&key, &datagram, MediaData MEDIA_HEADER_LENGTH, MediaRepair REPAIR_HEADER_LENGTH);
    check_feedback(&datagram);
}
