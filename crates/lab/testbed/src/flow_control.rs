//! The emulated link of a connection, from its flow control. It must not know which tasks are connected, or how a link is emulated.

use std::path::Path;

use weir_link::LinkSpec;
use weir_link::profile::{LinkFlags, Profile};

use crate::document::FlowControl;

/// A link file beside the workflow, in `folder`, or a profile, and what flow control changes in it; none without any.
///
/// # Errors
/// What is wrong, in a line.
pub(crate) fn link(
    named: Option<&str>,
    flow: &FlowControl,
    folder: &Path,
) -> Result<Option<LinkSpec>, String> {
    refuse_promises(flow)?;
    if named.is_none() && *flow == FlowControl::default() {
        return Ok(None);
    }
    let mut profile = match named {
        Some(name) => {
            let beside = folder.join(name);
            let name = if beside.is_file() {
                beside.display().to_string()
            } else {
                name.to_owned()
            };
            Profile::open(&name).map_err(|error| error.to_string())?
        }
        None => Profile::clean(),
    };
    let flags = LinkFlags {
        delay: flow.typical_delay.map(|delay| format!("{delay}ms")),
        rate: flow.max_throughput.map(|rate| format!("{rate}bit/s")),
        ..LinkFlags::default()
    };
    profile.apply(&flags).map_err(|error| error.to_string())?;
    let spec = profile.spec().map_err(|error| error.to_string())?;
    spec.check().map_err(|error| error.to_string())?;
    Ok(Some(spec))
}

/// A link emulates a delay and a maximum; what bounds the network's behaviour cannot be promised.
fn refuse_promises(flow: &FlowControl) -> Result<(), String> {
    let bounds = [
        flow.min_delay,
        flow.max_delay,
        flow.min_throughput,
        flow.averaging_window,
    ];
    if bounds.iter().any(Option::is_some) {
        return Err(
            "an emulated link has a typical-delay and a max-throughput; for others write a link file and name it as weir.link"
                .to_owned(),
        );
    }
    Ok(())
}
