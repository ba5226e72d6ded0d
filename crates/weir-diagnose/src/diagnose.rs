//! Asks every finding in turn and puts them in order. It must not know how any of them is found.

use crate::finding::{Diagnosis, Finding};
use crate::findings;
use crate::measured::Measured;

/// What the user may set.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// Residual loss that the recommendation aims at, 0 to 1; none: one packet an hour of the media.
    pub target_loss: Option<f64>,
}

/// What a run says, with the usual options.
pub fn diagnose(measured: &Measured) -> Diagnosis {
    diagnose_with(measured, &Options::default())
}

/// What a run says.
pub fn diagnose_with(measured: &Measured, _options: &Options) -> Diagnosis {
    let mut findings: Vec<Finding> = Vec::new();
    findings.extend(findings::outage::find(measured));
    findings.extend(findings::rtt_level::find(measured));
    // Faults first; within a severity in the order of the names.
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.name.cmp(&b.name)));
    Diagnosis {
        run: measured.run.0,
        kind: measured.kind.clone(),
        target: measured.target.clone(),
        findings,
        recommendation: None,
    }
}
