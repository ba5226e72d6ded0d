//! The threads of a stream and the channels to them, from the first session on. It must not know what the threads do.

use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};
use std::thread::JoinHandle;

use weir_control::Stop;
use weir_measure::HostWatch;
use weir_record::{Record, RecvSecond};
use weir_stream_proto::{PACKET_OVERHEAD, Shares};

use super::config::RecvConfig;
use super::data::Command;
use super::link::Opened;
use super::output::{OutputEnd, OutputTotals, ToOutput};
use super::report::{RecvQuarter, Report, with_share};
use super::terms::{format_of, sender_terms};
use crate::StreamError;
use crate::messages::Terms;
use crate::shares::Rows;

/// Threads and channels from the first session on.
pub(super) struct Stream {
    /// To the receiving threads, one for each share.
    pub commands: Vec<Outbox<Command>>,
    pub reports: Inbox<Report>,
    pub to_output: Outbox<ToOutput>,
    pub receiving: Vec<JoinHandle<Result<(), StreamError>>>,
    pub writing: JoinHandle<(OutputTotals, OutputEnd)>,
    pub output_stop: Stop,
    pub shares: Shares,
    pub payload: u32,
    pub seconds: Seconds,
    pub quarters: Rows<RecvQuarter>,
    pub _watch: HostWatch,
    pub watched: Inbox<Vec<Record>>,
}

impl Stream {
    /// Whether a thread has ended.
    pub(super) fn has_finished(&self) -> bool {
        self.receiving.iter().any(JoinHandle::is_finished) || self.writing.is_finished()
    }

    /// Gives a command to all receiving threads.
    pub(super) fn command(&self, command: impl Fn() -> Command) {
        for commands in &self.commands {
            commands.send(command()).ok();
        }
    }

    /// Whether a sender sends as the first one does: otherwise they cannot be joined.
    pub(super) fn check(&self, name: &str, terms: &Terms) -> Result<(), StreamError> {
        let (length, threads) = (self.payload + PACKET_OVERHEAD, self.shares.count());
        let reason = if terms.length != length {
            format!(
                "{name} sends packets of {} bytes and another sender packets of {length}: start both with the same --length",
                terms.length
            )
        } else if terms.threads != threads {
            format!(
                "{name} sends with {} packet threads and another sender with {threads}: start both with the same --threads",
                terms.threads
            )
        } else {
            return Ok(());
        };
        Err(StreamError::FarEnd(reason))
    }

    /// Adds a sender whose session is ready: each thread gets the sockets of its share.
    pub(super) fn add(&self, config: &RecvConfig, sender: u16, opened: Opened) -> Result<(), StreamError> {
        let format = format_of(&opened.terms)?;
        let shares = self.shares;
        let terms = (0..shares.count()).map(|share| sender_terms(config, sender, &opened, (shares, share)));
        let terms: Vec<_> = terms.collect();
        let mut sockets = opened.sockets.into_iter();
        for (commands, terms) in self.commands.iter().zip(terms) {
            let sockets = sockets.by_ref().take(terms.flows.into()).collect();
            let add = Command::Add {
                sender,
                terms,
                format,
                sockets,
            };
            commands.send(add).ok();
        }
        Ok(())
    }
}

/// Joins the seconds of all shares, by sender.
pub(super) struct Seconds {
    shares: Shares,
    rows: BTreeMap<u16, Rows<RecvSecond>>,
}

impl Seconds {
    pub(super) fn new(shares: Shares) -> Self {
        Seconds {
            shares,
            rows: BTreeMap::new(),
        }
    }

    /// Takes seconds of a share; returns those that all shares have.
    pub(super) fn push(&mut self, share: u16, rows: Vec<RecvSecond>) -> Vec<Record> {
        let mut joined = Vec::new();
        for row in rows {
            let count = self.shares.count();
            let of_sender = self.rows.entry(row.sender).or_insert_with(|| Rows::new(count));
            joined.extend(of_sender.push(share, row).and_then(together));
        }
        joined
    }

    /// Seconds of a sender's previous session that not all shares have.
    pub(super) fn last_of(&mut self, sender: u16) -> Vec<Record> {
        let mut rows = self.rows.remove(&sender);
        std::iter::from_fn(|| together(rows.as_mut()?.pop()?)).collect()
    }

    /// Seconds that not all shares have.
    pub(super) fn last_of_all(&mut self) -> Vec<Record> {
        let senders: Vec<u16> = self.rows.keys().copied().collect();
        senders
            .into_iter()
            .flat_map(|sender| self.last_of(sender))
            .collect()
    }
}

/// The row of all shares.
fn together(rows: Vec<RecvSecond>) -> Option<Record> {
    rows.into_iter().reduce(with_share).map(Record::RecvSecond)
}
