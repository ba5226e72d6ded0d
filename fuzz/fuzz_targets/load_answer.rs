//! Input from an origin, its metrics and a Locust master: responses in HTTP/1.1, segments, metrics, frames of ZMTP with
//! their messages. No bytes may crash the parsers, and fragmentation makes no difference.
//!
//! Input: a byte that chooses the parser, the length of fragments, then the data.

use weir_load::http::response::ResponseReader;
use weir_load::locust::message::FromMaster;
use weir_load::locust::zmtp::{Frame, FrameReader};
use weir_load::metrics;
use weir_load::verify::{Defaults, Verifier};

fn response(bytes: &[u8], step: usize) -> (Vec<u8>, bool, Option<u16>) {
    let mut reader = ResponseReader::default();
    let mut body = Vec::new();
    let read = bytes
        .chunks(step)
        .try_for_each(|piece| reader.push(piece, &mut |part| body.extend_from_slice(part)));
    let status = reader.head().map(|head| head.status);
    (body, read.is_ok() && reader.end().is_ok(), status)
}

fn verdict(bytes: &[u8], step: usize) -> weir_load::verify::Verdict {
    let mut verifier = Verifier::new(&Defaults::default());
    bytes.chunks(step).for_each(|piece| verifier.push(piece));
    verifier.finish()
}

pub fn run(input: &[u8]) {
    let [which, step, bytes @ ..] = input else { return };
    let step = usize::from(*step).max(1);
    match which % 4 {
        0 => {
            let (body, whole, status) = response(bytes, step);
            let other = response(bytes, bytes.len().max(1));
            assert_eq!((whole, status), (other.1, other.2));
            if whole {
                assert_eq!(body, other.0);
            }
        }
        1 => assert_eq!(verdict(bytes, step), verdict(bytes, bytes.len().max(1))),
        2 => {
            if let Ok(samples) = metrics::read(bytes) {
                assert!(samples.len() <= metrics::MOST_SAMPLES);
            }
        }
        _ => {
            let mut reader = FrameReader::default();
            for piece in bytes.chunks(step) {
                reader.push(piece);
                while let Ok(Some(frame)) = reader.next_frame() {
                    if let Frame::Message { body, .. } = frame {
                        let _ = FromMaster::read(&body);
                    }
                }
            }
        }
    }
}
