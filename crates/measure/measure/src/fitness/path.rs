//! Checks of the path between two hosts by what a search of the path MTU found.

use weir_record::Side;

use super::{Check, CheckName, Fitness, Mend};
use crate::path_mtu::MtuReport;

/// What probes found in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Probed {
    /// The sending host.
    pub from: Side,
    /// The search; its path MTU is none where no packet came through.
    pub report: MtuReport,
}

/// The checks of one direction.
pub fn check_path(probed: &Probed) -> Vec<Check> {
    let Probed { from, report } = *probed;
    let check = |name, value: String, wanted: String, mend: Option<Mend>, fitness| Check {
        name,
        side: from,
        fitness: mend.as_ref().map_or(Fitness::Good, |_| fitness),
        value,
        wanted,
        mend,
    };
    let (to, to_ports) = match from {
        Side::Local => ("the agent's host", "the agent's UDP ports ('--udp-ports' there)"),
        Side::Remote => ("this host", "UDP from the agent's ports ('--udp-ports' there)"),
    };
    let open = report.path_mtu.is_some();
    let blocked = (!open).then(|| {
        Mend::advice(format!(
            "Let {to_ports} pass in the firewall of {to}, in its security group, and on the way there."
        ))
    });
    let value = if open { "passes" } else { "blocked" };
    let mut checks = vec![check(
        CheckName::Udp,
        value.to_owned(),
        "passes".to_owned(),
        blocked,
        Fitness::Fault,
    )];
    if let Some(mtu) = report.path_mtu {
        let full = report.interface_mtu;
        let short = (mtu < full).then(|| {
            Mend::advice(format!(
                "Raise the MTU on the way to {to}, or lower that of the sending interface to {mtu}; until then, \
                 '--length' must keep packets to {mtu} bytes."
            ))
        });
        checks.push(check(
            CheckName::PathMtu,
            format!("{mtu} bytes"),
            format!("{full} bytes, as the sending interface"),
            short,
            Fitness::Warning,
        ));
    }
    checks
}
