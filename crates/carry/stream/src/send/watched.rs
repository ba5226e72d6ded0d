//! What a sender is watched by: alarms, and metrics. It must not know threads or connections.

use weir_alarm::MetricsServer;
use weir_net::clock;

use super::config::SendConfig;
use super::summary::SendSummary;
use crate::alarms::{Alarms, End, HeldUp, Quarter};
use crate::announce::Announcer;
use crate::metrics::{self, Context};
use crate::{Event, EventKind, RecvLive, SendLive, StreamError, Watch};

/// The one receiver.
const RECEIVER: u16 = 0;

/// A quarter of a second of the sending thread.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SendQuarter {
    pub now_ns: u64,
    pub held: HeldUp,
    /// Repair packets sent.
    pub repairs: u64,
    /// Feedback that failed authentication, or was not valid.
    pub rejected: u64,
    /// Key renewals.
    pub renewals: u64,
    /// Time since the receiver's last feedback, nanoseconds; none while none is expected.
    pub silence_ns: Option<u64>,
}

impl SendQuarter {
    /// That of all shares together.
    pub(super) fn of_all(shares: &[SendQuarter]) -> Self {
        let mut all = SendQuarter::default();
        for share in shares {
            all.now_ns = all.now_ns.max(share.now_ns);
            all.held.longest_ns = all.held.longest_ns.max(share.held.longest_ns);
            all.held.drops += share.held.drops;
            all.repairs += share.repairs;
            all.rejected += share.rejected;
            // All renew their keys at about the same time.
            all.renewals = all.renewals.max(share.renewals);
            all.silence_ns = all.silence_ns.max(share.silence_ns);
        }
        all
    }
}

/// Events, alarms and metrics of a sender.
pub(super) struct Watched<'a> {
    pub announcer: Announcer<'a>,
    alarms: Alarms,
    server: Option<MetricsServer>,
    /// What the receiver has reported and is not judged yet.
    reported: RecvLive,
    is_connected: bool,
}

impl<'a> Watched<'a> {
    /// Starts hooks and the server of metrics.
    pub(super) fn start(config: &SendConfig, watch: &'a dyn Watch) -> Result<Self, StreamError> {
        let server = metrics::serve(config.metrics, watch)?;
        Ok(Watched {
            announcer: Announcer::new("send", &config.hooks, watch)?,
            alarms: Alarms::new(End::Sender, 0),
            server,
            reported: RecvLive::default(),
            is_connected: false,
        })
    }

    /// Frames are sent to a receiver, with FEC or not, which waits this long for missing packets.
    pub(super) fn join(&mut self, fec: bool, latency_ns: u64) {
        self.alarms.set_budget(latency_ns);
        self.alarms.join(RECEIVER, "the receiver", fec);
        self.is_connected = true;
    }

    /// The session ends.
    pub(super) fn leave(&mut self) {
        self.alarms.leave(clock::monotonic_ns(), RECEIVER);
        self.reported = RecvLive::default();
        self.is_connected = false;
        self.announce();
    }

    /// A flow is used, or the reason why it is not.
    pub(super) fn flow(&mut self, flow: u16, unused: Option<&'static str>) {
        self.alarms.flow(RECEIVER, flow, unused);
    }

    /// The receiver's last second.
    pub(super) fn report(&mut self, live: RecvLive) {
        // The receiver may report anything.
        let sum = u64::saturating_add;
        let reported = &mut self.reported;
        reported.lost = sum(reported.lost, live.lost);
        reported.unrepaired = sum(reported.unrepaired, live.unrepaired);
        reported.late = sum(reported.late, live.late);
    }

    /// A quarter of a second is over.
    pub(super) fn quarter(&mut self, quarter: &SendQuarter) {
        let reported = std::mem::take(&mut self.reported);
        self.alarms.host(quarter.now_ns, quarter.held);
        let judged = Quarter {
            lost: reported.lost,
            repairs: quarter.repairs,
            unrepaired: reported.unrepaired,
            late: reported.late,
            rejected: quarter.rejected,
            silence_ns: quarter.silence_ns,
        };
        self.alarms.peer(quarter.now_ns, RECEIVER, &judged);
        if quarter.renewals > 0 {
            let detail = "the key of the stream was renewed";
            self.announcer
                .announce(Event::now(None, EventKind::KeyRenewed, detail));
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
    pub(super) fn show(&self, summary: &SendSummary, live: &SendLive) {
        let Some(server) = &self.server else { return };
        let context = Context {
            alarms: &self.alarms,
            events: self.announcer.counts(),
        };
        server.show(metrics::sent(summary, live, self.is_connected, &context));
    }
}
