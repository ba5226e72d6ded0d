#!/usr/bin/env python3
"""Writes ena_statistics.txt: what `ethtool -S` prints of an ENA once a second while it throttles 1 % of what it
receives, 24,000 packets a second for ten seconds, and drops some more for an empty ring. Standard library only.

The names and their order are those of ena_ethtool.c (Linux 6.12); the counts begin where an instance that has run for
some days might have them. The last line says how many packets were dropped in all."""
import random
import sys

random.seed(20261126)
SECONDS, PACKETS = 10, 24_000
counts = {
    "tx_timeout": 0, "suspend": 0, "resume": 0, "wd_expired": 0, "interface_up": 1, "interface_down": 0,
    "admin_q_pause": 0, "bw_in_allowance_exceeded": 918_273, "bw_out_allowance_exceeded": 4_411,
    "pps_allowance_exceeded": 17, "conntrack_allowance_exceeded": 0, "linklocal_allowance_exceeded": 3,
    "conntrack_allowance_available": 136_812,
    "queue_0_tx_cnt": 51_002, "queue_0_tx_queue_stop": 0, "queue_0_rx_cnt": 77_123_001,
    "queue_0_rx_empty_rx_ring": 12, "queue_1_tx_cnt": 4_123, "queue_1_rx_cnt": 612_000,
    "queue_1_rx_empty_rx_ring": 0,
}
dropped = 0
for second in range(SECONDS + 1):
    print("NIC statistics:")
    for name, value in counts.items():
        print(f"     {name}: {value}")
    print()
    if second == SECONDS:
        break
    lost = sum(random.random() < 0.01 for _ in range(PACKETS))
    dropped += lost
    counts["bw_in_allowance_exceeded"] += lost
    counts["queue_0_rx_cnt"] += PACKETS - lost
    counts["queue_0_tx_cnt"] += 40
    counts["conntrack_allowance_available"] -= random.randrange(3)
print(f"dropped: {dropped}")
print("seconds", SECONDS, "packets", SECONDS * PACKETS, "dropped", dropped, file=sys.stderr)
