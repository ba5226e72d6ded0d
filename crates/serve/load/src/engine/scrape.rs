//! Reads the metrics of an origin once a second, on a thread of its own.

use std::rc::Rc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::client::{Client, Dialer, Request};
use crate::clock::monotonic_ns;
use crate::manifest::UrlRange;
use crate::measure::Kind;
use crate::metrics::{self, Metric};

const EVERY: Duration = Duration::from_secs(1);

/// What to read.
#[derive(Clone, Debug)]
pub struct Scrape {
    /// Where.
    pub place: UrlRange,
    /// Names of the byte counters.
    pub names: ScrapeNames,
}

/// The counters of bytes that an origin read and sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScrapeNames {
    /// Read from its storage.
    pub taken: String,
    /// Sent to clients.
    pub sent: String,
}

impl Default for ScrapeNames {
    /// Those of `weir origin`.
    fn default() -> Self {
        ScrapeNames {
            taken: "weir_origin_storage_bytes_total".to_owned(),
            sent: "weir_origin_sent_bytes_total".to_owned(),
        }
    }
}

impl ScrapeNames {
    /// Both counters; none if one of them is not there.
    pub(super) fn in_and_out(&self, metrics: &[Metric]) -> Option<(f64, f64)> {
        Some((
            metrics::sum(metrics, &self.taken)?,
            metrics::sum(metrics, &self.sent)?,
        ))
    }
}

type Scraped = Result<Vec<Metric>, String>;

/// A thread that reads metrics until this is dropped.
pub(super) struct Scraping {
    received: Receiver<Scraped>,
    _alive: Arc<()>,
}

impl Scraping {
    /// What was read last, if anything since the last look.
    pub fn latest(&self) -> Option<Scraped> {
        self.received.try_iter().last()
    }
}

pub(super) fn start(scrape: &Scrape, dialer: Dialer) -> std::io::Result<Scraping> {
    let (sender, received) = channel();
    let alive = Arc::new(());
    let here = Arc::downgrade(&alive);
    let place = scrape.place.clone();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    std::thread::Builder::new()
        .name("scrape".to_owned())
        .spawn(move || runtime.block_on(read_on(place, dialer, sender, here)))?;
    Ok(Scraping {
        received,
        _alive: alive,
    })
}

async fn read_on(place: UrlRange, dialer: Dialer, sender: Sender<Scraped>, alive: Weak<()>) {
    let mut client = Client::new(Rc::new(dialer));
    while alive.strong_count() > 0 {
        let mut text = Vec::new();
        let mut keep = |bytes: &[u8]| {
            let room = (metrics::MOST_BYTES + 1)
                .saturating_sub(text.len())
                .min(bytes.len());
            text.extend_from_slice(&bytes[..room]);
        };
        let request = Request {
            kind: Kind::Manifest,
            place: &place,
            intended_ns: monotonic_ns(),
        };
        let got = client.get(request, &mut |_| {}, &mut keep).await;
        let read = match got {
            Ok(_) => metrics::read(&text).map_err(|error| error.to_string()),
            Err(failed) => Err(failed.0.words().to_owned()),
        };
        if sender.send(read).is_err() {
            return;
        }
        tokio::time::sleep(EVERY).await;
    }
}
