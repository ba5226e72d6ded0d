//! Starts the threads of a stream with its first session. It must not know what they report.

use std::sync::mpsc::channel;

use weir_control::Stop;
use weir_measure::HostWatch;
use weir_record::Side;
use weir_stream_proto::{Receiver, ReceiverConfig, SenderTerms, Shares};
use weir_video::VideoFormat;

use super::RecvConfig;
use super::data::{self, Data};
use super::link::Opened;
use super::output::{MOST_FRAMES, Output};
use super::stream::{Seconds, Stream};
use crate::StreamError;
use crate::messages::Terms;
use crate::shares::Rows;

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
    let apart = flows * data::BUFFERS * (LONGEST_MERGED / terms.payload().max(1)) as usize;
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

pub(super) fn start_stream(config: &RecvConfig, opened: &Opened) -> Result<Stream, StreamError> {
    let terms = &opened.terms;
    let shares = Shares::new(terms.threads, terms.payload())
        .ok_or_else(|| StreamError::Internal(format!("{} threads", terms.threads)))?;
    let (outbox, reports) = channel();
    let output_stop = Stop::default();
    let (output, queues, to_output) = Output::new(
        config.output.clone(),
        (terms.frame_ns, shares),
        outbox.clone(),
        output_stop.clone(),
    );
    let writing = std::thread::Builder::new()
        .name("output".into())
        .spawn(move || output.run())
        .map_err(|error| StreamError::thread(&error))?;
    let (mut commands, mut receiving) = (Vec::new(), Vec::new());
    for (share, queue) in (0..).zip(queues) {
        let (command, to_obey) = channel();
        let data = Data {
            share,
            threads: shares.count(),
            receiver: receiver(config, terms)?,
            commands: to_obey,
            reports: outbox.clone(),
            frames: queue,
        };
        let thread = std::thread::Builder::new()
            .name("receive".into())
            .spawn(move || data.run())
            .map_err(|error| StreamError::thread(&error))?;
        commands.push(command);
        receiving.push(thread);
    }
    let (records, watched) = channel();
    let interface = weir_net::host::interface_towards(opened.peer.ip());
    Ok(Stream {
        commands,
        reports,
        to_output,
        receiving,
        writing,
        output_stop,
        shares,
        payload: terms.payload(),
        seconds: Seconds::new(shares),
        quarters: Rows::new(shares.count()),
        _watch: HostWatch::start(Side::Local, interface, records)?,
        watched,
    })
}

/// The core of a share.
fn receiver(config: &RecvConfig, terms: &Terms) -> Result<Receiver, StreamError> {
    let frames = (8 + 2 * config.latency_ns / terms.frame_ns).min(MOST_FRAMES) as usize;
    Receiver::new(ReceiverConfig {
        latency_ns: config.latency_ns,
        payload: terms.payload(),
        frames,
        frame_bytes: weir_video::MAX_FRAME_BYTES as u32,
        join: config.join,
    })
    .map_err(|error| StreamError::FarEnd(error.to_string()))
}
