//! Control frames: an opener accepts the frames that were sealed, in order, and nothing else.
//!
//! Input: steps of a byte and its arguments: 0 seals and delivers a payload, 1 delivers the last frame again,
//! 2 delivers a sealed frame with one byte changed and then unchanged, 3 delivers 20 bytes as a header with a
//! payload. The byte's upper six bits are the payload's length.

use crate::checks::take;
use weir_wire::{FRAME_HEADER_LENGTH, FrameOpener, FrameSealer, MAX_FRAME_LENGTH, Role};

pub fn run(input: &[u8]) {
    let mut input = input;
    let key = [3; 32];
    let mut sealer = FrameSealer::new(&key, Role::Client);
    let mut opener = FrameOpener::new(&key, Role::Agent);
    let mut last: Option<([u8; FRAME_HEADER_LENGTH], Vec<u8>)> = None;
    while let Some((&step, rest)) = input.split_first() {
        input = rest;
        let payload_length = usize::from(step >> 2);
        match step & 3 {
            1 => {
                if let Some((header, payload)) = &last {
                    assert!(opener.open(header, &mut payload.clone()).is_err());
                }
            }
            3 => {
                let Some((header, rest)) = input.split_first_chunk() else {
                    return;
                };
                input = rest;
                let payload = take(&mut input, payload_length);
                if let Ok(length) = opener.payload_length(header) {
                    assert!(length <= MAX_FRAME_LENGTH);
                }
                assert!(opener.open(header, &mut payload.to_vec()).is_err());
            }
            changed => {
                let payload = take(&mut input, payload_length);
                let mut sealed = payload.to_vec();
                let Ok(header) = sealer.seal(&mut sealed) else {
                    panic!("a short payload is not sealed")
                };
                assert_eq!(opener.payload_length(&header), Ok(payload.len()));
                if let (2, Some((&[place, difference], rest))) = (changed, input.split_first_chunk()) {
                    input = rest;
                    let mut frame = [&header[..], &sealed].concat();
                    let place = usize::from(place) % frame.len();
                    frame[place] ^= difference;
                    if difference != 0 {
                        let Some((header, payload)) = frame.split_first_chunk_mut() else {
                            return;
                        };
                        assert!(opener.open(header, payload).is_err());
                    }
                }
                let mut opened = sealed.clone();
                assert_eq!(opener.open(&header, &mut opened), Ok(()));
                assert_eq!(opened, payload);
                last = Some((header, sealed));
            }
        }
    }
}
