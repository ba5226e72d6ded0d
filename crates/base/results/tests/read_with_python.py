"""Reads the five compatibility views the way a script for the Port 9 Labs cloud-video-tests databases would,
and prints what it finds as JSON. Standard library only; knows nothing of Weir but the views' names.

usage: read_with_python.py DATABASE
"""

import json
import math
import sqlite3
import sys
from collections import defaultdict


def p90(values):
    """Nearest rank: the smallest value that 90 % of the values do not exceed."""
    ordered = sorted(values)
    return ordered[math.ceil(0.9 * len(ordered)) - 1]


def main(path):
    database = sqlite3.connect(path)
    database.row_factory = sqlite3.Row

    packets = database.execute("select * from rtt").fetchall()
    rtts = defaultdict(list)
    for packet in packets:
        if packet["rtt"] is not None:
            rtts[packet["packet_length"]].append(packet["rtt"])

    last_drops = database.execute("select * from drops order by x desc limit 1").fetchone()

    longest, errors = {}, {}
    for burst in database.execute("select * from bursts order by timestamp"):
        longest[burst["port"]] = max(longest.get(burst["port"], 0), burst["burst_length"])
        errors[burst["port"]] = burst["burst_errors"]

    flows = {}
    for row in database.execute("select * from flows order by x"):
        flows[row["port"]] = [
            row["burst_count"],
            row["reverses"],
            row["duplicates"],
            row["longest_burst"],
            row["sequence_breaks"],
        ]

    print(
        json.dumps(
            {
                "rtt_columns": packets[0].keys(),
                "rtt_lost": sum(packet["rtt"] is None for packet in packets),
                "rtt_p90_by_packet_length": {length: p90(values) for length, values in rtts.items()},
                "last_drops": dict(last_drops),
                "longest_burst_by_port": longest,
                "burst_errors_by_port": errors,
                "stream_packets_lost_in_bursts": sum(
                    length for (length,) in database.execute("select burst_length from sbursts")
                ),
                "last_flows_by_port": flows,
            }
        )
    )


if __name__ == "__main__":
    main(sys.argv[1])
