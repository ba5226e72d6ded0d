//! What a sender hands to its kernel, counted. It must not know sockets.

use crate::counts::counters;

counters! {
    /// Counts of a sender.
    pub struct SendCounts {
        /// Packets handed to the kernel, refused ones among them.
        sent => sum,
        /// UDP payload bytes of those that it accepted.
        bytes => sum,
        /// Messages that carried them; a train counts as one.
        sends => sum,
        /// Packets that the kernel refused for lack of buffer space.
        refused => sum,
    }
}
