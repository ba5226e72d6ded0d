//! What both directions of a real-time link share.

use std::sync::atomic::AtomicBool;

use weir_net::realtime::Bell;
use weir_net::tun::Tun;

use super::report::Way;
use crate::headers::RouterAddresses;
use crate::spec::{DirectionSpec, LinkSpec};

/// State shared by both directions.
pub(super) struct Shared {
    pub spec: LinkSpec,
    pub near: Tun,
    pub far: Tun,
    pub bell: Bell,
    pub stop: AtomicBool,
    pub router: RouterAddresses,
    /// Monotonic start time of the link.
    pub began_ns: u64,
}

impl Shared {
    pub fn spec_of(&self, way: Way) -> &DirectionSpec {
        match way {
            Way::Forward => &self.spec.forward,
            Way::Reverse => &self.spec.reverse,
        }
    }
}
