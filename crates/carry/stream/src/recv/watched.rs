//! What a receiver is watched by: alarms, and metrics. It must not know threads or connections.

use std::collections::BTreeMap;

use weir_alarm::MetricsServer;
use weir_net::clock;
use weir_record::FlowChange;

use super::config::RecvConfig;
use super::report::{FlowMetrics, RecvQuarter};
use super::summary::RecvSummary;
use crate::alarms::{Alarms, End};
use crate::announce::Announcer;
use crate::metrics::{self, Context};
use crate::{Event, EventKind, RecvLive, StreamError, Watch};

/// Events, alarms and metrics of a receiver.
pub(super) struct Watched<'a> {
    pub announcer: Announcer<'a>,
    alarms: Alarms,
    server: Option<MetricsServer>,
    names: &'a [String],
    /// Flows of running sessions, by sender and flow.
    flows: BTreeMap<(u16, u16), FlowMetrics>,
}

impl<'a> Watched<'a> {
    /// Starts hooks and the server of metrics.
    pub(super) fn start(config: &'a RecvConfig, watch: &'a dyn Watch) -> Result<Self, StreamError> {
        let server = metrics::serve(config.metrics, watch)?;
        Ok(Watched {
            announcer: Announcer::new("recv", &config.hooks, watch)?,
            alarms: Alarms::new(End::Receiver, config.latency_ns),
            server,
            names: &config.from,
            flows: BTreeMap::new(),
        })
    }

    /// A session begins.
    pub(super) fn join(&mut self, sender: u16, name: &str, fec: bool) {
        self.alarms.join(sender, name, fec);
    }

    /// A session ends.
    pub(super) fn leave(&mut self, sender: u16) {
        self.alarms.leave(clock::monotonic_ns(), sender);
        self.flows.retain(|(of, _), _| *of != sender);
        self.announce();
    }

    /// The run ends.
    pub(super) fn leave_all(&mut self) {
        for sender in 0..self.names.len() as u16 {
            self.leave(sender);
        }
    }

    /// A sender uses a flow otherwise.
    pub(super) fn flow(&mut self, change: &FlowChange) {
        let unused = match change.state.as_str() {
            "silent" => Some("silent"),
            "losing" => Some("losing"),
            _ => None,
        };
        self.alarms.flow(change.sender, change.flow, unused);
    }

    /// A quarter of a second is over.
    pub(super) fn quarter(&mut self, of_all: &RecvQuarter) {
        let now_ns = of_all.now_ns;
        self.alarms.host(now_ns, of_all.held);
        for quarter in &of_all.senders {
            let sender = quarter.sender;
            // The last ones of a session may come after its end.
            if !self.alarms.watches(sender) {
                continue;
            }
            self.alarms.peer(now_ns, sender, &quarter.judged());
            if quarter.renewals > 0 {
                let name = &self.names[usize::from(sender)];
                let detail = format!("{name} has renewed the key of its stream");
                self.announcer
                    .announce(Event::now(Some(sender), EventKind::KeyRenewed, detail));
            }
            for (flow, counts) in (0..).zip(&quarter.flows) {
                self.flows.insert((sender, flow), *counts);
            }
        }
        self.announce();
    }

    fn announce(&mut self) {
        for signal in self.alarms.take() {
            self.announcer
                .announce(Event::about(signal.subject, signal.state, signal.detail));
        }
    }

    /// Shows the totals as metrics.
    pub(super) fn show(&self, summary: &RecvSummary, live: &RecvLive, connected: &[bool]) {
        let Some(server) = &self.server else { return };
        let context = Context {
            alarms: &self.alarms,
            events: self.announcer.counts(),
        };
        server.show(metrics::received(summary, live, connected, &self.flows, &context));
    }
}
