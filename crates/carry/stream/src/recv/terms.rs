//! What a session with a sender means for the core of a share. It must not know threads.

use weir_stream_proto::{SenderTerms, Shares};
use weir_video::VideoFormat;

use super::config::RecvConfig;
use super::data::BUFFERS;
use super::link::Opened;
use crate::StreamError;
use crate::messages::Terms;

/// Maximum bytes that GRO merges into one buffer.
const LONGEST_MERGED: u32 = 65_535;

/// The terms of a share of a sender.
pub(super) fn sender_terms(
    config: &RecvConfig,
    rank: u16,
    opened: &Opened,
    (shares, share): (Shares, u16),
) -> SenderTerms {
    let terms = &opened.terms;
    let flows = shares.flows(share, terms.flows).len();
    let packets_per_second = terms.packets_per_second() / f64::from(shares.count());
    let within = packets_per_second * config.latency_ns as f64 / 1e9;
    // One flow may be read this far ahead of the others.
    let apart = flows * BUFFERS * (LONGEST_MERGED / terms.payload().max(1)) as usize;
    // A quarter more than the budget holds: packets do not arrive evenly.
    let history = within * 1.25 + apart as f64 + f64::from(terms.fec_window.unwrap_or(0));
    SenderTerms {
        session: opened.session,
        secrets: shares.secrets(share, opened.secrets.clone()),
        flows: flows as u16,
        fec_window: terms.fec_window,
        fec_history: history as u16,
        arq: terms.arq,
        rtt_ns: opened.rtt_ns,
        rank,
    }
}

pub(super) fn format_of(terms: &Terms) -> Result<VideoFormat, StreamError> {
    VideoFormat::from_media_type(terms.format.as_bytes())
        .map_err(|error| StreamError::FarEnd(format!("the sender's format is not valid: {error}")))
}
