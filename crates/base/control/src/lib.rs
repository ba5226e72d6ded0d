//! Control sessions between two hosts: name resolution, the door of a service, the token's handshake on both ends, the
//! encrypted messages that follow on the same TCP connection, and the hellos of UDP flows. It must not know what messages contain.

mod channel;
mod connect;
mod door;
mod entrance;
mod hello;
mod listen;
mod refusals;
mod stop;
mod stranger;

pub use channel::{Control, ControlError, ControlWriter, SILENCE_LIMIT};
pub use connect::{
    ConnectError, Connected, Family, Service, connect, join, nonce, read_token, resolve, strong,
};
pub use door::{Admitted, Caller, Door, DoorConfig, Joined, SessionPlace};
pub use entrance::{Admission, Entrance, Place};
pub use hello::{Greeted, greet};
pub use listen::{listen, listen_with_token};
pub use stop::Stop;
