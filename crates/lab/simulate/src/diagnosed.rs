//! The diagnosis of a run, with its recommendation tried in virtual time. It must not know what a recommendation weighs.

use weir_diagnose::{Diagnosis, Measured, Options, diagnose_with};

use crate::carried::VirtualTransport;

/// The diagnosis of a run, whose recommendation is tried with the transport itself.
pub fn diagnose_by_trial(measured: &Measured, options: &Options) -> Diagnosis {
    let options = Options {
        transport: Some(&VirtualTransport),
        ..*options
    };
    diagnose_with(measured, &options)
}
