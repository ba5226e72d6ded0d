//! Attributes lost packets to the places whose counters show drops. It must not read those counters.
//!
//! Limits, which every presentation of the result must respect:
//! - Counters of a whole host include other traffic, so the share of a host is an upper bound. Those of an instance's
//!   allowances include packets that only waited.
//! - Drops that no counter shows (a hypervisor's, some drivers') end up with the network.
//! - With GRO one dropped buffer may hold many datagrams, and a socket's counter counts buffers: its drops must be
//!   multiplied by an estimate.

/// Where lost packets went. The four shares add up to the loss that was split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
pub struct Attribution {
    /// Dropped at the receiving socket: its buffer was full.
    pub socket: u64,
    /// Dropped on the receiving host before the socket.
    pub host_receiver: u64,
    /// Dropped on the sending host.
    pub host_sender: u64,
    /// Not dropped on either host, by their counters.
    pub network: u64,
    /// The share of the socket rests on an estimate of packets per buffer.
    pub estimated: bool,
    /// The counters claim more drops than packets were lost: they must include other traffic (or the
    /// estimate is too high), and the last places in the order were reduced.
    pub overclaimed: bool,
}

/// Splits `lost` packets: first to the receiving socket, then to the receiving host, then to the sending host, each
/// at most its counter; the rest is attributed to the network. The counters nearest to the test's own traffic come
/// first, since they include the least of other traffic.
pub fn attribute(lost: u64, socket_drops: u64, host_receive_drops: u64, host_send_drops: u64) -> Attribution {
    attribute_buffers(lost, socket_drops, host_receive_drops, host_send_drops, 1.0)
}

/// As [`attribute`], where each of the socket's drops was a buffer of about `packets_per_buffer` packets (GRO), for
/// instance the mean over the buffers that were received. Values below 1, and NaN, are taken as 1.
pub fn attribute_buffers(
    lost: u64,
    socket_drops: u64,
    host_receive_drops: u64,
    host_send_drops: u64,
    packets_per_buffer: f64,
) -> Attribution {
    let estimated = packets_per_buffer > 1.0 && socket_drops > 0;
    let socket_packets = if estimated {
        (socket_drops as f64 * packets_per_buffer).round() as u64
    } else {
        socket_drops
    };
    let mut left = lost;
    let mut take = |claimed: u64| {
        let share = claimed.min(left);
        left -= share;
        share
    };
    let socket = take(socket_packets);
    let host_receiver = take(host_receive_drops);
    let host_sender = take(host_send_drops);
    let claimed = socket_packets
        .saturating_add(host_receive_drops)
        .saturating_add(host_send_drops);
    Attribution {
        socket,
        host_receiver,
        host_sender,
        network: left,
        estimated,
        overclaimed: claimed > lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goes_from_the_socket_outwards() {
        let split = attribute(100, 10, 20, 30);
        assert_eq!(
            (
                split.socket,
                split.host_receiver,
                split.host_sender,
                split.network
            ),
            (10, 20, 30, 40)
        );
        assert!(!split.estimated && !split.overclaimed);
        let split = attribute(25, 10, 20, 30);
        assert_eq!(
            (
                split.socket,
                split.host_receiver,
                split.host_sender,
                split.network
            ),
            (10, 15, 0, 0)
        );
        assert!(split.overclaimed);
        assert_eq!(attribute(0, 0, 0, 0), Attribution::default());
    }

    #[test]
    fn multiplies_buffers_and_says_so() {
        let split = attribute_buffers(100, 3, 0, 0, 16.4);
        assert_eq!((split.socket, split.network, split.estimated), (49, 51, true));
        assert_eq!(
            attribute_buffers(7, u64::MAX, u64::MAX, u64::MAX, f64::NAN).socket,
            7
        );
        assert_eq!(
            attribute_buffers(7, u64::MAX, u64::MAX, u64::MAX, f64::INFINITY).socket,
            7
        );
    }
}
