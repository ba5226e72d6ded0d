//! The findings, each in a module of its own. A finding takes what was measured, and what the analysis made of it, and
//! gives itself or nothing.

pub(crate) mod address_families;
pub(crate) mod correlated_loss;
pub(crate) mod delay_under_load;
pub(crate) mod ecn;
pub(crate) mod flow_growth;
pub(crate) mod hashed_ports;
pub(crate) mod host_limits;
pub(crate) mod host_loss;
pub(crate) mod late_sender;
pub(crate) mod length_growth;
pub(crate) mod limit;
pub(crate) mod loss_pattern;
pub(crate) mod loss_process;
pub(crate) mod outage;
pub(crate) mod payload_cliff;
pub(crate) mod rate_drop;
pub(crate) mod reversals;
pub(crate) mod route_loss;
pub(crate) mod routes;
pub(crate) mod rtt_change;
pub(crate) mod rtt_level;
pub(crate) mod tcp_window;
pub(crate) mod udp_loss;
pub(crate) mod window_growth;

use crate::finding::Severity;

/// Loss from which media are harmed even with some FEC.
const HARMFUL_LOSS: f64 = 1e-3;

/// Loss is worth knowing, and a fault from one packet in a thousand on.
fn severity_of_loss(loss: f64) -> Severity {
    if loss >= HARMFUL_LOSS {
        Severity::Fault
    } else {
        Severity::Notice
    }
}
