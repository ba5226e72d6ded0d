//! How fast answers are sent: what an operator sets, the rates between a body and the wire, and the one rate of a connection
//! that carries several answers. All of it works on numbers that it is given; it must not know sockets, clocks or HTTP.

mod burst;
mod rates;
mod shares;

use weir_media::pace_bounds::PaceBounds;

pub use burst::{BadBurst, Burst};
pub use rates::{Framing, TcpRate};
pub use shares::{Order, Progress, ShareId, Shares};

/// What an operator sets.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pacing {
    /// Within which what players ask for is granted.
    pub bounds: PaceBounds,
    /// What a paced connection sends back to back at most.
    pub burst: Burst,
}
