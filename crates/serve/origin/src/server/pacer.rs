//! Keeps the kernel's pacing of one connection at what its answers ask for, from the first byte of each to its last,
//! which leaves after its body has ended here. It must not know why an answer has its rate.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use weir_units::Rate;

use super::app::App;
use super::socket::Socket;
use crate::metrics::Metrics;
use weir_pacing::{Framing, Order, Pacing, ShareId, Shares, TcpRate};

/// Until the next look at what is left of the answer before.
const LEFT: Duration = Duration::from_millis(2);

/// The pacing of a connection, where answers are paced at all. Clones speak of the same connection.
#[derive(Clone, Debug)]
pub struct Pacer(Option<Arc<Paced>>);

#[derive(Debug)]
struct Paced {
    socket: Socket,
    settings: Pacing,
    framing: Framing,
    metrics: Arc<Metrics>,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    shares: Shares,
    /// The last rate set in the kernel.
    told: Option<TcpRate>,
}

/// What an answer has of its connection's rate, until the end of the body.
#[derive(Debug)]
pub struct Share {
    paced: Arc<Paced>,
    id: ShareId,
    /// Bytes that are handed over at its end.
    last: u64,
}

impl Pacer {
    /// Of a connection, on which HTTP/2 is spoken or HTTP/1.1; one that does nothing where answers are not paced.
    pub fn new(app: &App, socket: &Socket, http2: bool) -> Self {
        let Some(settings) = &app.pacing else {
            return Pacer(None);
        };
        let is_ipv4 = socket.peer().ip().to_canonical().is_ipv4();
        let order = if http2 { Order::Together } else { Order::Turns };
        Pacer(Some(Arc::new(Paced {
            socket: socket.clone(),
            settings: settings.clone(),
            framing: Framing {
                http2,
                tls: app.tls.is_some(),
                ipv6: !is_ipv4,
            },
            metrics: app.metrics.clone(),
            state: Mutex::new(State {
                shares: Shares::new(order),
                told: None,
            }),
            changed: Notify::new(),
        })))
    }

    /// An answer begins whose body is to be sent at that rate. On HTTP/1.1 a request may come before the answer to the
    /// one before has left: then it waits until it has.
    pub async fn begin(&self, body: Option<Rate>) -> Option<Share> {
        let paced = self.0.as_ref()?;
        let rate = body.map(|body| paced.framing.tcp_rate(body));
        loop {
            if let Some(share) = paced.try_begin(rate) {
                return Some(share);
            }
            sleep(LEFT).await;
        }
    }

    /// What packets take of the link at that rate.
    pub fn wire_rate(&self, body: Rate) -> Option<Rate> {
        let paced = self.0.as_ref()?;
        let tcp = paced.framing.tcp_rate(body);
        Some(paced.framing.wire_rate(tcp, paced.socket.mss()))
    }

    /// Takes rates away when the last byte has left, or their time is over, for as long as it is polled.
    pub async fn watch(&self) -> Infallible {
        let Some(paced) = &self.0 else {
            return pending().await;
        };
        loop {
            match paced.look() {
                None => paced.changed.notified().await,
                Some(after) => tokio::select! {
                    () = paced.changed.notified() => {}
                    () = sleep(after) => {}
                },
            }
        }
    }
}

impl Paced {
    fn try_begin(self: &Arc<Self>, rate: Option<TcpRate>) -> Option<Share> {
        let now = Instant::now().into_std();
        let progress = self.socket.progress();
        let mut state = self.state();
        state.shares.settle(now, progress);
        if state.shares.must_wait(rate) {
            return None;
        }
        let id = state.shares.begin(rate, now + self.settings.bounds.longest);
        self.tell(&mut state);
        drop(state);
        if rate.is_some() {
            self.changed.notify_one();
        }
        Some(Share {
            paced: self.clone(),
            id,
            last: 0,
        })
    }

    /// Does what there is to do by now, and says when there may be more.
    fn look(&self) -> Option<Duration> {
        let now = Instant::now().into_std();
        let progress = self.socket.progress();
        let mut state = self.state();
        state.shares.settle(now, progress);
        self.tell(&mut state);
        state.shares.look_after(now, progress)
    }

    fn tell(&self, state: &mut State) {
        let rate = state.shares.rate();
        if rate == state.told {
            return;
        }
        let rises = match (state.told, rate) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(before), Some(now)) => now > before,
        };
        if let Err(error) = self.socket.set_rate(rate, self.settings.burst, rises) {
            tracing::debug!(%error, "cannot set the pace rate of a connection");
        }
        self.metrics.pacing_changed(state.told.is_some(), rate.is_some());
        state.told = rate;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Paced {
    fn drop(&mut self) {
        let is_paced = self.state().told.is_some();
        self.metrics.pacing_changed(is_paced, false);
    }
}

impl Share {
    /// The body ends with these bytes, which are not handed over before this.
    pub fn ends(mut self, last: u64) {
        self.last = last;
    }
}

/// Without last bytes the body has none or is given up: what was not handed over never will be.
impl Drop for Share {
    fn drop(&mut self) {
        let progress = self.paced.socket.progress();
        let mut state = self.paced.state();
        state.shares.end(self.id, progress, self.last);
        let is_paced = state.told.is_some();
        drop(state);
        if is_paced {
            self.paced.changed.notify_one();
        }
    }
}
