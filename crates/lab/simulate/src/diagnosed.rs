//! The diagnosis of a run, with its recommendation tried in virtual time. It must not know what a recommendation weighs.

use weir_diagnose::{Diagnosis, Measured, Options, diagnose_with};

use crate::carried::VirtualTransport;

/// What nobody asks for otherwise, with the transport itself as what recommendations are tried with.
pub const BY_TRIAL: Options<'static> = Options {
    target_loss: None,
    latency_ns: None,
    survive: None,
    trial_packets: None,
    transport: Some(&VirtualTransport),
};

/// The diagnosis of a run, whose recommendation is tried with the transport itself.
pub fn diagnose_by_trial(measured: &Measured, options: &Options) -> Diagnosis {
    let options = Options {
        transport: BY_TRIAL.transport,
        ..*options
    };
    diagnose_with(measured, &options)
}
