#!/usr/bin/python3
"""Writes reference.json beside this file: the figures that weir-stats must reproduce, computed with numpy and, for
the binomial intervals, with whole-number arithmetic. It shares nothing with the Rust code but the definitions.

Needs python3-numpy. Run it without arguments; the output is the same every time (seeded Philox generator).
"""
import json
import math
import os
from fractions import Fraction

import numpy as np

rng = np.random.Generator(np.random.Philox(20240607))


def whole(values):
    return [int(value) for value in values]


def quantiles():
    """Round-trip times: a log-normal body, a long tail, and some below zero as one-way delays can be."""
    sample = np.concatenate([
        rng.lognormal(math.log(250_000), 0.4, 1_600),
        rng.pareto(1.3, 300) * 1_000_000,
        -rng.exponential(40_000, 101),
    ])
    rng.shuffle(sample)
    sample = np.rint(sample).astype(np.int64)
    shares = [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999]
    found = np.quantile(sample, shares, method="inverted_cdf")
    return {
        "sample": whole(sample), "shares": shares, "quantiles": whole(found),
        "min": int(sample.min()), "max": int(sample.max()), "mean": float(sample.mean()),
    }


def jitter():
    """RFC 3550, 6.4.1, over transit times in order of arrival, written out as the sum it unrolls to."""
    transit = np.rint(5_000_000 + np.cumsum(rng.normal(0, 20_000, 500))).astype(np.int64)
    differences = np.abs(np.diff(transit)).astype(np.float64)
    weights = (15 / 16) ** np.arange(len(differences) - 1, -1, -1) / 16
    return {"transit": whole(transit), "jitter": float(np.dot(weights, differences))}


def ipdv():
    """RFC 3393 over consecutive sequences that were both received."""
    count = 800
    delay = np.rint(rng.gamma(4, 60_000, count)).astype(np.int64)
    received = rng.random(count) > 0.1
    both = received[1:] & received[:-1]
    absolute = np.abs(np.diff(delay))[both]
    return {
        "sequence": whole(np.flatnonzero(received)), "delay": whole(delay[received]),
        "count": int(both.sum()), "mean": float(absolute.mean()), "max": int(absolute.max()),
        "quantiles": whole(np.quantile(absolute, [0.5, 0.9, 0.99], method="inverted_cdf")),
    }


def tail_exact(k, n, p, upwards):
    """P(X >= k) or P(X <= k) of a binomial, in fractions."""
    terms = range(k, n + 1) if upwards else range(0, k + 1)
    return sum(math.comb(n, i) * p**i * (1 - p) ** (n - i) for i in terms)


def tail_logs(k, n, p, upwards):
    """The same by logarithms of factorials, summed over the shorter side."""
    def below(last):
        exponents = [
            math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1)
            + i * math.log(p) + (n - i) * math.log1p(-p) for i in range(last + 1)
        ]
        return math.fsum(map(math.exp, exponents))
    return 1 - below(k - 1) if upwards else below(k)


def clopper_pearson(k, n):
    exact = n <= 60
    tail = tail_exact if exact else tail_logs

    def solve(upwards):
        low, high = (0.0, k / n) if upwards else (k / n, 1.0)
        for _ in range(80):
            middle = (low + high) / 2
            if middle in (low, high) or middle <= 0 or middle >= 1:
                break
            p = Fraction(middle) if exact else middle
            wide = tail(k, n, p, upwards) > Fraction(25, 1000)
            # Upwards the tail grows with p; downwards it shrinks.
            if wide == upwards:
                high = middle
            else:
                low = middle
        return (low + high) / 2

    return [k, n, 0.0 if k == 0 else solve(True), 1.0 if k == n else solve(False)]


def intervals():
    cases = [(0, 1), (1, 1), (0, 20), (1, 20), (10, 20), (20, 20), (3, 57), (59, 60),
             (0, 1_000), (1, 1_000), (37, 1_000), (5, 100_000), (120, 100_000),
             (0, 10_000_000), (3, 10_000_000), (800, 1_500_000), (2_500, 5_000)]
    return [clopper_pearson(k, n) for k, n in cases]


def clock():
    """Exchanges over two hours with 12.5 ppm of drift; one minimum a minute; Theil and Sen by numpy's median."""
    interval = 60_000_000_000
    rows, best = [], {}
    for second in range(0, 7_200, 10):
        t1 = second * 1_000_000_000 + int(rng.integers(0, 1_000_000))
        there, back = (120_000 + whole(rng.exponential(60_000, 2))[i] for i in (0, 1))
        if rng.random() < 0.15:
            there += int(rng.integers(500_000, 5_000_000))
        offset = 3_000_000_000 + round(12.5e-6 * (t1 + there))
        t2 = t1 + there + offset
        t3 = t2 + 15_000
        t4 = t1 + there + 15_000 + back
        rows.append([t1, t2, t3, t4])
        rtt, middle = there + back, t1 + (t4 - t1) / 2
        measured = ((t2 - t1) + (t3 - t4)) / 2
        key = int(middle // interval)
        if key not in best or rtt < best[key][0]:
            best[key] = (rtt, middle, measured)
    points = np.array([best[key] for key in sorted(best)])
    first, second = np.triu_indices(len(points), 1)
    slopes = (points[second, 2] - points[first, 2]) / (points[second, 1] - points[first, 1])
    slope = float(np.median(slopes))
    end = rows[-1][3]
    window = 600_000_000_000
    last_middle = rows[-1][0] + (rows[-1][3] - rows[-1][0]) / 2
    recent = []
    for t1, t2, t3, t4 in rows:
        middle = t1 + (t4 - t1) / 2
        if middle >= last_middle - window:
            recent.append(((t4 - t1) - (t3 - t2), middle, ((t2 - t1) + (t3 - t4)) / 2))
    rtt, middle, measured = min(recent)
    return {
        "interval_ns": interval, "window_ns": window, "exchanges": rows, "at_ns": end,
        "drift_ppm": slope * 1e6, "offset_ns": measured + slope * (end - middle), "min_rtt_ns": rtt,
        "true_offset_ns": 3_000_000_000 + 12.5e-6 * end,
    }


reference = {
    "quantiles": quantiles(), "jitter": jitter(), "ipdv": ipdv(), "intervals": intervals(), "clock": clock(),
}
path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference.json")
with open(path, "w", encoding="ascii") as file:
    json.dump(reference, file, separators=(",", ":"))
    file.write("\n")
