//! Which statistics of a driver are drops that a measurement has to know, by name: those of AWS (ena), Google (gve),
//! Azure (mana, mlx5) and of virtio_net. It must not know where the statistics come from.

use weir_stats::HostCounts;

/// Adds a statistic to the counter that it belongs to. Others, and sums of those that are counted by queue, are left out.
pub(crate) fn add(counts: &mut HostCounts, name: &str, value: u64) {
    if let Some(counter) = counter(counts, name) {
        *counter = counter.saturating_add(value);
    }
}

/// Sets all counters of drivers to 0.
pub(crate) fn clear(counts: &mut HostCounts) {
    *counts = HostCounts {
        driver_rx_dropped: 0,
        driver_tx_dropped: 0,
        driver_rx_ring_empty: 0,
        bw_in_allowance_exceeded: 0,
        bw_out_allowance_exceeded: 0,
        pps_allowance_exceeded: 0,
        conntrack_allowance_exceeded: 0,
        linklocal_allowance_exceeded: 0,
        ..*counts
    };
}

fn counter<'c>(counts: &'c mut HostCounts, name: &str) -> Option<&'c mut u64> {
    Some(match without_numbers(name).as_str() {
        // ena: packets queued or dropped by the hypervisor for an allowance of the instance.
        "bw_in_allowance_exceeded" => &mut counts.bw_in_allowance_exceeded,
        "bw_out_allowance_exceeded" => &mut counts.bw_out_allowance_exceeded,
        "pps_allowance_exceeded" => &mut counts.pps_allowance_exceeded,
        "conntrack_allowance_exceeded" => &mut counts.conntrack_allowance_exceeded,
        "linklocal_allowance_exceeded" => &mut counts.linklocal_allowance_exceeded,
        // virtio_net before and since Linux 6.8, and what its device counts; veth.
        "rx_queue_#_drops" | "rx#_drops" | "rx#_hw_drops" => &mut counts.driver_rx_dropped,
        "tx#_hw_drops" => &mut counts.driver_tx_dropped,
        // mlx5: no buffer of the host's, and none of the card's.
        "rx_out_of_buffer" | "rx_discards_phy" => &mut counts.driver_rx_dropped,
        "tx_queue_dropped" => &mut counts.driver_tx_dropped,
        // mana.
        "hc_rx_discards_no_wqe" => &mut counts.driver_rx_dropped,
        // gve: by the card, and by the driver.
        "rx_queue_drop_cnt[#]" | "rx_dropped_pkt[#]" => &mut counts.driver_rx_dropped,
        // ena, gve: times, not packets.
        "queue_#_rx_empty_rx_ring" | "rx_no_buffers_posted[#]" => &mut counts.driver_rx_ring_empty,
        _ => return None,
    })
}

/// The name with `#` in place of each number.
fn without_numbers(name: &str) -> String {
    let mut shape = String::with_capacity(name.len());
    for letter in name.chars() {
        match letter {
            '0'..='9' if shape.ends_with('#') => {}
            '0'..='9' => shape.push('#'),
            other => shape.push(other),
        }
    }
    shape
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names are those of the drivers' sources (Linux 6.12: `ena_ethtool.c`, `gve_ethtool.c`, `mana_ethtool.c`,
    /// `en_stats.c` of mlx5, `virtio_net.c`), as `ethtool -S` prints them.
    fn counted(text: &str) -> HostCounts {
        let mut counts = HostCounts::default();
        for line in text.lines() {
            if let Some((name, value)) = line.trim().rsplit_once(": ") {
                add(&mut counts, name, value.parse().expect("a number"));
            }
        }
        counts
    }

    #[test]
    fn ena_tells_allowances_and_empty_rings() {
        let found = counted(
            "NIC statistics:\n     tx_timeout: 0\n     bw_in_allowance_exceeded: 70\n     bw_out_allowance_exceeded: 71
             pps_allowance_exceeded: 72\n     conntrack_allowance_exceeded: 73\n     linklocal_allowance_exceeded: 74
             conntrack_allowance_available: 136812\n     queue_0_rx_cnt: 5\n     queue_0_rx_empty_rx_ring: 2
             queue_11_rx_empty_rx_ring: 3\n     queue_0_rx_bad_desc_num: 9\n     ena_admin_q_aborted_cmd: 9",
        );
        let expected = HostCounts {
            bw_in_allowance_exceeded: 70,
            bw_out_allowance_exceeded: 71,
            pps_allowance_exceeded: 72,
            conntrack_allowance_exceeded: 73,
            linklocal_allowance_exceeded: 74,
            driver_rx_ring_empty: 5,
            ..HostCounts::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn queues_of_the_other_drivers_add_up() {
        let gve = counted(
            "     rx_dropped: 9\n     rx_queue_drop_cnt[0]: 3\n     rx_queue_drop_cnt[15]: 4\n     rx_dropped_pkt[0]: 1
             rx_no_buffers_posted[0]: 6",
        );
        assert_eq!((gve.driver_rx_dropped, gve.driver_rx_ring_empty), (8, 6));
        let mlx5 = counted(
            "     rx_out_of_buffer: 20\n     rx_discards_phy: 1\n     tx_queue_dropped: 4\n     tx0_dropped: 4
             rx_xdp_drop: 7\n     rx0_xdp_drop: 7",
        );
        assert_eq!((mlx5.driver_rx_dropped, mlx5.driver_tx_dropped), (21, 4));
        let virtio = counted(
            "     rx_queue_0_drops: 5\n     rx_queue_0_xdp_drops: 50\n     rx_queue_1_drops: 6\n     rx2_drops: 7
             rx2_hw_drops: 100\n     rx2_hw_drop_overruns: 100\n     tx2_hw_drops: 8",
        );
        assert_eq!((virtio.driver_rx_dropped, virtio.driver_tx_dropped), (118, 8));
        assert_eq!(counted("     hc_rx_discards_no_wqe: 12").driver_rx_dropped, 12);
    }
}
