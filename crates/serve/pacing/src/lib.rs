//! The pace of an answer: what a player asks for in a request, what a server grants within its bounds, and what follows for
//! the connection that carries one or several answers. All of it works on numbers that it is given; it must not know
//! sockets, clocks or HTTP, nor why a player asks for what it asks.

mod bounds;
mod burst;
pub mod header;
mod rates;
mod shares;

pub use bounds::{MAX_FACTOR, Pace, PaceBounds, PaceReason, PaceRequest, PaceRequestError};
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
