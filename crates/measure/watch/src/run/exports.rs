//! Exports of metrics at intervals as OTLP. It must not know which metrics there are.

use weir_alarm::{Deliveries, Exporter, Exposition, Hook, Message, otlp};

/// How often metrics are exported.
const EXPORT_NS: u64 = 15_000_000_000;

/// Exports of metrics at intervals.
pub(super) struct Exports {
    deliveries: Option<Deliveries>,
    start_ns: u64,
    next_ns: u64,
}

impl Exports {
    pub fn start(to: &[Hook], now_ns: u64) -> std::io::Result<Self> {
        let deliveries = (!to.is_empty()).then(|| Deliveries::of_states(to));
        Ok(Exports {
            deliveries: deliveries.transpose()?,
            start_ns: now_ns,
            next_ns: 0,
        })
    }

    /// A clock that was set back delays nothing.
    pub fn is_due(&self, now_ns: u64) -> bool {
        self.deliveries.is_some() && (now_ns >= self.next_ns || self.next_ns > now_ns + EXPORT_NS)
    }

    /// Never waits.
    pub fn send(&mut self, page: &Exposition, here: &str, version: &str, now_ns: u64) {
        self.next_ns = now_ns + EXPORT_NS;
        let exporter = Exporter {
            service: "weir-watch",
            instance: here,
            version,
            start_ns: self.start_ns,
            now_ns,
        };
        if let Some(deliveries) = &mut self.deliveries {
            deliveries.deliver(Message {
                json: otlp(page, &exporter),
                variables: Vec::new(),
            });
        }
    }
}
