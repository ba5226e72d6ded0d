//! A function's own counters of bytes in and out, beside those of the kernel. It must not know what they are compared with.

use std::net::{Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};
use weir_load::metrics::{self, Metric};
use weir_net::namespace::NetworkNamespace;

use crate::function::{OwnMetrics, PORT};
use crate::plain_http::get;

/// What a function says about itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct OwnCounts {
    /// Bytes of bodies that it read from its storage.
    pub in_bytes: Option<f64>,
    /// Bytes of bodies that it sent.
    pub out_bytes: Option<f64>,
}

impl OwnCounts {
    pub(crate) fn since(self, earlier: OwnCounts) -> OwnCounts {
        let change = |now: Option<f64>, then: Option<f64>| Some((now? - then?).max(0.0));
        OwnCounts {
            in_bytes: change(self.in_bytes, earlier.in_bytes),
            out_bytes: change(self.out_bytes, earlier.out_bytes),
        }
    }
}

/// Reads the metrics of the function in this namespace; none if it does not answer with any. The request goes over loopback,
/// which is not counted.
pub(crate) fn read(namespace: &NetworkNamespace, names: &OwnMetrics) -> Option<OwnCounts> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
    let page = namespace.run(|| get(address, &names.path, metrics::MOST_BYTES as u64));
    let found = metrics::read(&page.ok()?.ok()?).ok()?;
    Some(OwnCounts {
        in_bytes: names.taken.as_ref().and_then(|name| sum(&found, name)),
        out_bytes: names.sent.as_ref().and_then(|name| sum(&found, name)),
    })
}

/// Sum over all labels; none if there is no such metric.
fn sum(metrics: &[Metric], name: &str) -> Option<f64> {
    let of_name = |metric: &&Metric| metric.name.split('{').next() == Some(name);
    let values = metrics.iter().filter(of_name).map(|metric| metric.value);
    values.reduce(|sum, value| sum + value)
}
