//! Follows the control connection and the sending threads of a session: passes on messages between both ends, and hands one
//! row per second to the observer, however many threads there are. It must not know packets.

use std::sync::mpsc::{Receiver as Inbox, Sender as Outbox};
use std::time::Duration;

use weir_control::ControlError;
use weir_record::{FlowChange as FlowRow, Record, SendSecond};
use weir_stats::Counters;
use weir_stream_proto::{FlowChange, Shares};
use weir_units::Rate;
use weir_video::VideoFormat;

use super::data::{Order, Report};
use super::session::{Fault, Session, SessionEnd, nonsense};
use super::watched::SendQuarter;
use crate::messages::{ToReceiver, ToSender};
use crate::shares::Rows;
use crate::{EventKind, Live, SendLive, StreamError};

const NAP: Duration = Duration::from_millis(10);

/// A second of a thread, and the flows in use at its end.
type Second = (SendSecond, u16);

/// Exchanges messages with both ends while the threads send.
pub(super) struct Following<'a, 'b, 'c> {
    session: &'a mut Session<'b, 'c>,
    shares: Shares,
    flows: u16,
    live: SendLive,
    hashes: Vec<(u32, u64)>,
    seconds: Rows<Second>,
    quarters: Rows<SendQuarter>,
    /// Shares whose threads have sent all, and the first error of the input.
    ended: usize,
    input_error: Option<StreamError>,
}

impl<'a, 'b, 'c> Following<'a, 'b, 'c> {
    pub(super) fn new(session: &'a mut Session<'b, 'c>, shares: Shares, flows: u16) -> Self {
        Following {
            session,
            shares,
            flows,
            live: SendLive::default(),
            hashes: Vec::new(),
            seconds: Rows::new(shares.count()),
            quarters: Rows::new(shares.count()),
            ended: 0,
            input_error: None,
        }
    }

    /// Follows until the session ends; `finished` counts the threads that have finished.
    pub(super) fn follow(
        &mut self,
        orders: &[Outbox<Order>],
        reports: &Inbox<(u16, Report)>,
        watched: &Inbox<Vec<Record>>,
        finished: &dyn Fn() -> usize,
    ) -> Result<SessionEnd, Fault> {
        loop {
            // Counted before the threads' last messages are read.
            let finished = finished();
            if let Some(end) = self.drain(reports, watched)? {
                return Ok(end);
            }
            if finished > self.ended {
                // The error of one of them is returned when it is joined.
                return Ok(SessionEnd::Stopped);
            }
            if self.session.stream.stop.is_set() {
                let reason = Some("the sender was stopped".to_owned());
                self.session.control.writer.send(&ToReceiver::Ended { reason })?;
                return Ok(SessionEnd::Stopped);
            }
            match self.session.next(NAP)? {
                Some(ToSender::Active(active)) => {
                    for orders in orders {
                        orders.send(Order::Active(active)).ok();
                    }
                }
                Some(ToSender::Second(live)) => {
                    self.live.receiver = Some(live);
                    self.session.stream.watched.report(live);
                }
                Some(ToSender::Leave) => return Ok(SessionEnd::Left("it has finished".into())),
                Some(other) => return Err(nonsense(&other)),
                None => {}
            }
        }
    }

    /// Processes the threads' last messages; returns the end of the stream, if that is among them.
    pub(super) fn finish(
        &mut self,
        reports: &Inbox<(u16, Report)>,
        watched: &Inbox<Vec<Record>>,
    ) -> Result<Option<SessionEnd>, Fault> {
        let end = self.drain(reports, watched);
        while let Some(seconds) = self.seconds.pop() {
            self.second(seconds);
        }
        end
    }

    /// Processes the threads' messages; returns the end of the stream, if that is among them.
    fn drain(
        &mut self,
        reports: &Inbox<(u16, Report)>,
        watched: &Inbox<Vec<Record>>,
    ) -> Result<Option<SessionEnd>, Fault> {
        for record in watched.try_iter().flatten() {
            self.session.stream.watch.record(record);
        }
        let mut end = None;
        for (share, report) in reports.try_iter() {
            end = end.or(self.take(share, report)?);
        }
        self.say_hashes()?;
        Ok(end)
    }

    fn take(&mut self, share: u16, report: Report) -> Result<Option<SessionEnd>, Fault> {
        // What concerns frames, all report alike.
        let is_first = share == 0;
        match report {
            Report::Second(mut second, used) => {
                if !is_first {
                    (second.counts.frames, second.counts.frames_skipped) = (0, 0);
                }
                if let Some(seconds) = self.seconds.push(share, (*second, used)) {
                    self.second(seconds);
                }
            }
            Report::Quarter(quarter) => {
                if let Some(quarters) = self.quarters.push(share, quarter) {
                    self.session
                        .stream
                        .watched
                        .quarter(&SendQuarter::of_all(&quarters));
                }
            }
            Report::Rtt(rtt_ns) if is_first => {
                self.session.control.writer.send(&ToReceiver::Rtt { rtt_ns })?;
            }
            Report::Format(format) if is_first => self.format(format),
            Report::Rtt(_) | Report::Format(_) => {}
            Report::Flow(flow, change) => {
                let first = self.shares.flows(share, self.flows).start;
                self.flow(first + flow.0, change)?;
            }
            Report::Hash(frame, hash) => self.hashes.push((frame, hash)),
            Report::Stopped(broken) => {
                let reason = Some(broken.to_string());
                self.session.control.writer.send(&ToReceiver::Ended { reason })?;
                return Err(StreamError::from(broken).into());
            }
            Report::Ended(error) => return self.ended(error),
        }
        Ok(None)
    }

    /// A share has ended; the stream has when all have.
    fn ended(&mut self, error: Option<StreamError>) -> Result<Option<SessionEnd>, Fault> {
        self.ended += 1;
        self.input_error = self.input_error.take().or(error);
        if self.ended < usize::from(self.shares.count()) {
            return Ok(None);
        }
        let error = self.input_error.take();
        let reason = error.as_ref().map(StreamError::to_string);
        self.say_hashes()?;
        self.session.control.writer.send(&ToReceiver::Ended { reason })?;
        match error {
            Some(error) => Err(error.into()),
            None => Ok(Some(SessionEnd::StreamOver)),
        }
    }

    /// Sends the receiver the reason of the end, if it is still connected.
    pub(super) fn say_why(&self, error: &StreamError) {
        let reason = Some(error.to_string());
        self.session
            .control
            .writer
            .send(&ToReceiver::Ended { reason })
            .ok();
    }

    fn say_hashes(&mut self) -> Result<(), ControlError> {
        if self.hashes.is_empty() {
            return Ok(());
        }
        let hashes = std::mem::take(&mut self.hashes);
        self.session.control.writer.send(&ToReceiver::Hashes(hashes))
    }

    fn flow(&mut self, flow: u16, change: FlowChange) -> Result<(), ControlError> {
        let unused = match change {
            FlowChange::Silent => Some("silent"),
            FlowChange::Losing | FlowChange::StillBad => Some("losing"),
            FlowChange::Back => None,
        };
        self.session.stream.watched.flow(flow, unused);
        let row = FlowRow {
            unix_ns: weir_net::clock::unix_ns(),
            sender: 0,
            flow,
            state: unused.unwrap_or("used").to_owned(),
        };
        let message = ToReceiver::Flow {
            unix_ns: row.unix_ns,
            flow,
            state: row.state.clone(),
        };
        self.session.stream.summary.flow_changes += 1;
        self.session.stream.watch.record(Record::FlowChange(row));
        self.session.control.writer.send(&message)
    }

    fn format(&mut self, format: VideoFormat) {
        self.session.stream.format = Some(format);
        self.session
            .stream
            .happened(EventKind::Format, format!("the format changes to {format}"));
    }

    /// A second of all threads.
    fn second(&mut self, seconds: Vec<Second>) {
        let used = seconds.iter().map(|(_, used)| used).sum();
        let mut seconds = seconds.into_iter().map(|(second, _)| second);
        let Some(first) = seconds.next() else { return };
        let second = seconds.fold(first, with_share);
        let summary = &mut self.session.stream.summary;
        summary.counts.add(&second.counts);
        summary.duration_ns += second.duration_ns;
        summary.cpu_ns += second.cpu_ns;
        self.live = SendLive {
            rate: Rate::of(second.counts.bytes, second.duration_ns).0,
            frames: summary.counts.frames,
            skipped: summary.counts.frames_skipped,
            sources: second.counts.sources,
            repairs: second.counts.repairs,
            retransmitted: second.counts.retransmitted,
            flows: (used, self.flows),
            rtt_ns: second.receiver_rtt_ns,
            receiver: self.live.receiver,
        };
        let stream = &self.session.stream;
        stream.watch.record(Record::SendSecond(second));
        stream.watch.live(&Live::Sending(self.live));
        stream.watched.show(stream.summary, &self.live);
    }
}

/// The second of a stream with that of a further share, which counts no frames. The code is the one of the share with
/// most repairs.
fn with_share(mut all: SendSecond, share: SendSecond) -> SendSecond {
    all.unix_ns = all.unix_ns.max(share.unix_ns);
    all.duration_ns = all.duration_ns.max(share.duration_ns);
    all.receiver_rtt_ns = all.receiver_rtt_ns.or(share.receiver_rtt_ns);
    all.counts.add(&share.counts);
    let sources = share.fec_sources.zip(all.fec_sources);
    if sources.is_some_and(|(further, known)| further < known) {
        (all.fec_sources, all.fec_window) = (share.fec_sources, share.fec_window);
    }
    all.cpu_ns += share.cpu_ns;
    all
}

#[cfg(test)]
mod tests {
    use weir_stats::SenderCounters;

    use super::*;

    #[test]
    fn a_second_of_two_shares_has_the_packets_of_both_and_the_stronger_code() {
        let share = |frames, sources, fec_sources| SendSecond {
            unix_ns: 5,
            duration_ns: 1_000,
            receiver_rtt_ns: None,
            counts: SenderCounters {
                frames,
                sources,
                ..SenderCounters::default()
            },
            fec_sources: Some(fec_sources),
            fec_window: Some(10 * fec_sources),
            cpu_ns: 300,
        };
        let both = with_share(share(60, 100, 12), share(0, 101, 6));
        assert_eq!((both.counts.frames, both.counts.sources), (60, 201));
        assert_eq!((both.duration_ns, both.cpu_ns), (1_000, 600));
        assert_eq!((both.fec_sources, both.fec_window), (Some(6), Some(60)));
    }
}
