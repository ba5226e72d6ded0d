//! Starts the threads of a stream with its first session. It must not know what they report.

use std::sync::mpsc::channel;

use weir_control::Stop;
use weir_measure::HostWatch;
use weir_record::Side;
use weir_stream_proto::{Receiver, ReceiverConfig, Shares};

use super::config::RecvConfig;
use super::data::Data;
use super::link::Opened;
use super::output::{MOST_FRAMES, Output};
use super::stream::{Seconds, Stream};
use crate::StreamError;
use crate::messages::Terms;
use crate::shares::Rows;

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
