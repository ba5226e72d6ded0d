//! Control sessions between two Weirs: names to addresses, listening, the token's handshake on both ends, and the
//! authenticated messages that follow on the same TCP connection, and the hellos of its UDP flows. It must not know what the messages say.

mod channel;
mod connect;
mod hello;
mod listen;
mod stop;
mod stranger;

pub use channel::{Control, ControlError, ControlWriter, SILENCE_LIMIT};
pub use connect::{ConnectError, Connected, Family, Service, connect, join, nonce, read_token, resolve};
pub use hello::{Greeted, greet};
pub use listen::{listen, listen_on_all};
pub use stop::Stop;
pub use stranger::{HANDSHAKE_LIMIT, Stranger};
