//! Events and seconds of a running stream: written to the store, and shown on a line.

use std::net::SocketAddr;

use weir_measure::Sink;
use weir_results::Record;
use weir_stream::{Event, EventState, Live, Watch};

use super::listening::url_on_this_host;
use super::progress::LiveLine;
use super::run_store::OpenRun;
use super::tables;

/// Stores and shows events.
pub struct Watching<'a> {
    run: &'a OpenRun<'a>,
    line: LiveLine,
}

impl<'a> Watching<'a> {
    /// For this run, with a line titled `title` unless `quiet`.
    pub fn new(run: &'a OpenRun<'a>, title: &str, quiet: bool) -> Self {
        Watching {
            run,
            line: LiveLine::new(title, quiet),
        }
    }
}

impl Watch for Watching<'_> {
    fn record(&self, record: Record) {
        self.run.record(record);
    }

    fn listening(&self, addresses: &[SocketAddr]) {
        let places: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
        self.line
            .say(&format!("waiting for a receiver at {}", places.join(" and ")));
    }

    fn metrics(&self, address: SocketAddr) {
        let url = url_on_this_host("http", address);
        self.line.say(&format!("metrics at {url}metrics"));
    }

    fn event(&self, event: &Event) {
        let alarm = match event.state {
            EventState::Happened => "",
            EventState::Raised => "ALARM: ",
            EventState::Cleared => "alarm cleared: ",
        };
        self.line.say(&format!("{alarm}{}", event.detail));
    }

    fn live(&self, live: &Live) {
        self.line.show(&tables::live(live));
    }
}
