#!/usr/bin/env python3
"""Writes intercloud.json: what the published results say, computed without Weir and without libraries.

    make_intercloud.py intercloud-results-within-cloud.csv intercloud-locations.csv > intercloud.json

The files are DoiT International's (Apache-2.0, doitintl/intercloud-throughput): results_202202/results.csv, here the rows
within one cloud, and region_data/locations.csv. Distances are great circles on a sphere with the coordinates of that
table, but for the one longitude that is known to be wrong. Bounds are 95 %: Fisher's transformation for the correlation,
Student's distribution (its quantile found by bisection of an integral) for the slope.
"""
import csv
import json
import math
import statistics
import sys

SAO_PAULO = -46.63


def kilometres(one, other):
    # Vincenty's formula for a sphere, another one than the haversine.
    a, b, c, d = map(math.radians, (*one, *other))
    across = math.cos(c) * math.sin(d - b)
    along = math.cos(a) * math.sin(c) - math.sin(a) * math.cos(c) * math.cos(d - b)
    inner = math.sin(a) * math.sin(c) + math.cos(a) * math.cos(c) * math.cos(d - b)
    return 6371.0088 * math.atan2(math.hypot(across, along), inner)


def student_quantile(freedom):
    """x with 97.5 % of Student's distribution below."""
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(freedom * math.pi)

    def below(x, steps=2000):
        width = x / steps
        at = [(1 + (i * width) ** 2 / freedom) ** (-(freedom + 1) / 2) for i in range(steps + 1)]
        simpson = at[0] + at[-1] + 4 * sum(at[1:-1:2]) + 2 * sum(at[2:-1:2])
        return 0.5 + scale * simpson * width / 3

    low, high = 1.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if below(middle) < 0.975 else (low, middle)
    return low


def fit(xs, ys):
    n, x_mean, y_mean = len(xs), statistics.fmean(xs), statistics.fmean(ys)
    xx = math.fsum((x - x_mean) ** 2 for x in xs)
    yy = math.fsum((y - y_mean) ** 2 for y in ys)
    xy = math.fsum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys))
    r, slope = xy / math.sqrt(xx * yy), xy / xx
    half = student_quantile(n - 2) * math.sqrt((yy - slope * xy) / (n - 2) / xx)
    z, fisher = math.atanh(r), statistics.NormalDist().inv_cdf(0.975) / math.sqrt(n - 3)
    return {
        "points": n,
        "correlation": r,
        "correlation_interval": [math.tanh(z - fisher), math.tanh(z + fisher)],
        "slope": slope,
        "slope_interval": [slope - half, slope + half],
        "intercept": y_mean - slope * x_mean,
    }


def main():
    points = {}
    with open(sys.argv[2], encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            points[row["cloud"], row["region"]] = (float(row["latitude"]), float(row["longitude"]))
    latitude, _ = points["GCP", "southamerica-east1"]
    points["GCP", "southamerica-east1"] = (latitude, SAO_PAULO)
    groups, windows, impossible, rows = {}, {}, 0, 0
    with open(sys.argv[1], encoding="utf-8") as opened:
        for row in csv.DictReader(opened):
            rows += 1
            distance = kilometres(
                points[row["from_cloud"], row["from_region"]], points[row["to_cloud"], row["to_region"]]
            )
            rtt, rate = float(row["avgrtt"]), float(row["bitrate_Bps"]) * 8 / 10
            if rtt > 60:
                windows.setdefault(row["to_cloud"].lower(), []).append(rate * rtt / 1000 / 8)
            # Light in fibre over all but 100 km of the distance.
            if rtt < 2 * (distance - 100) / (299792.458 * 2 / 3) * 1000:
                impossible += 1
            for name in ("all", f"{row['from_cloud']}->{row['to_cloud']}".lower()):
                groups.setdefault(name, []).append((distance / 1000, rtt, math.log10(rate)))
    print(json.dumps({
        "rows": rows,
        "impossible": impossible,
        "groups": {
            name: {
                "rtt": fit([p[0] for p in group], [p[1] for p in group]),
                "throughput": fit([p[0] for p in group], [p[2] for p in group]),
                "throughput_log": fit([math.log10(p[0] * 1000) for p in group], [p[2] for p in group]),
            }
            for name, group in sorted(groups.items())
        },
        "windows": {
            name: {
                "tests": len(values), "median_bytes": statistics.median(values), "mean_bytes": statistics.fmean(values)
            }
            for name, values in sorted(windows.items())
        },
    }, indent=1))


main()
