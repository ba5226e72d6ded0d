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
    /// A share of the socket or of the sending host rests on an estimate of packets per buffer.
    pub estimated: bool,
    /// The counters claim more drops than packets were lost: they must include other traffic (or the
    /// estimate is too high), and the last places in the order were reduced.
    pub overclaimed: bool,
}

/// Buffers of 2 packets and more on average leave runs of lost ones.
const SEVERAL: f64 = 2.0;

/// Drops that were counted in buffers of several packets each: merged ones at a receiving socket (GRO), trains on a sending host
/// (GSO).
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DroppedBuffers {
    /// How many were dropped.
    pub count: u64,
    /// Packets of one, for instance the mean over those that were not dropped. Values below 1, and NaN, are taken as 1.
    pub packets_each: f64,
}

impl DroppedBuffers {
    /// Of a packet each.
    pub fn single(count: u64) -> Self {
        DroppedBuffers {
            count,
            packets_each: 1.0,
        }
    }

    /// The count rests on an estimate of packets per buffer.
    fn is_estimate(&self) -> bool {
        self.packets_each > 1.0 && self.count > 0
    }

    /// Takes its packets off those that are missing in runs: all packets of a buffer follow each other in a flow. Where most hold one
    /// packet, that says nothing.
    fn take_off(&self, in_runs: &mut Option<u64>) -> u64 {
        if !self.is_estimate() {
            return self.count;
        }
        let packets = (self.count as f64 * self.packets_each).round() as u64;
        let runs = in_runs.filter(|_| self.packets_each >= SEVERAL);
        let packets = runs.map_or(packets, |runs| packets.min(runs.max(self.count)));
        *in_runs = in_runs.map(|runs| runs.saturating_sub(packets));
        packets
    }
}

/// Drops that hosts counted.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DropsOfHosts {
    /// At the receiving socket.
    pub socket: DroppedBuffers,
    /// Packets on the receiving host before the socket.
    pub receiving: u64,
    /// Trains on the sending host.
    pub trains: DroppedBuffers,
    /// Packets on the sending host beside those.
    pub sending: u64,
}

/// Splits `lost` packets: first to the receiving socket, then to the receiving host, then to the sending host, each
/// at most its counter; the rest is attributed to the network. The counters nearest to the test's own traffic come
/// first, since they include the least of other traffic. `lost_in_runs` are lost packets next to another lost one of their
/// flow, where that is known: the packets of buffers are among them.
pub fn attribute(lost: u64, drops: DropsOfHosts, lost_in_runs: Option<u64>) -> Attribution {
    let mut in_runs = lost_in_runs;
    let socket = drops.socket.take_off(&mut in_runs);
    let sending = drops.trains.take_off(&mut in_runs).saturating_add(drops.sending);
    let mut left = lost;
    let mut take = |claimed: u64| {
        let share = claimed.min(left);
        left -= share;
        share
    };
    Attribution {
        socket: take(socket),
        host_receiver: take(drops.receiving),
        host_sender: take(sending),
        network: left,
        estimated: drops.socket.is_estimate() || drops.trains.is_estimate(),
        overclaimed: socket.saturating_add(drops.receiving).saturating_add(sending) > lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buffers(count: u64, packets_each: f64) -> DroppedBuffers {
        DroppedBuffers { count, packets_each }
    }

    fn drops(socket: u64, receiving: u64, sending: u64) -> DropsOfHosts {
        DropsOfHosts {
            socket: DroppedBuffers::single(socket),
            receiving,
            sending,
            ..DropsOfHosts::default()
        }
    }

    #[test]
    fn goes_from_the_socket_outwards() {
        let split = attribute(100, drops(10, 20, 30), None);
        let places = |split: Attribution| {
            let Attribution {
                socket,
                host_receiver,
                host_sender,
                network,
                ..
            } = split;
            (socket, host_receiver, host_sender, network)
        };
        assert_eq!(places(split), (10, 20, 30, 40));
        assert!(!split.estimated && !split.overclaimed);
        let split = attribute(25, drops(10, 20, 30), None);
        assert_eq!(places(split), (10, 15, 0, 0));
        assert!(split.overclaimed);
        assert_eq!(
            attribute(0, DropsOfHosts::default(), None),
            Attribution::default()
        );
    }

    #[test]
    fn multiplies_buffers_and_says_so() {
        let of = |count, packets_each| DropsOfHosts {
            socket: buffers(count, packets_each),
            ..DropsOfHosts::default()
        };
        let split = attribute(100, of(3, 16.4), None);
        assert_eq!((split.socket, split.network, split.estimated), (49, 51, true));
        let most = DropsOfHosts {
            trains: buffers(u64::MAX, f64::INFINITY),
            ..drops(u64::MAX, u64::MAX, u64::MAX)
        };
        assert_eq!(attribute(7, most, None).socket, 7);
        assert_eq!(attribute(7, of(u64::MAX, f64::NAN), Some(0)).socket, 7);
        assert_eq!(attribute(7, of(u64::MAX, f64::INFINITY), None).socket, 7);
    }

    #[test]
    fn packets_that_were_lost_alone_were_in_no_buffer_of_several() {
        // Three buffers of 5 and one train of 10 were dropped; 27 packets were lost alone.
        let found = DropsOfHosts {
            socket: buffers(3, 5.0),
            trains: buffers(1, 12.0),
            ..DropsOfHosts::default()
        };
        let split = attribute(52, found, Some(25));
        assert_eq!((split.socket, split.host_sender, split.network), (15, 10, 27));
        assert!(!split.overclaimed);
        // Each buffer was one packet at least.
        assert_eq!(attribute(52, found, Some(0)).socket, 3);
        // Buffers of one packet leave no runs.
        let short = DropsOfHosts {
            socket: buffers(20, 1.2),
            ..DropsOfHosts::default()
        };
        assert_eq!(attribute(52, short, Some(4)).socket, 24);
    }
}
