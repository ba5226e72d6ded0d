#!/usr/bin/env python3
"""Interarrival jitter of RFC 3550, section 6.4.1, in exact fractions, both as the recursion J += (|D| - J) / 16 and as the
weighted sum that it stands for, of the delays in tests/suite/stream_account.rs. Prints the value that is expected there.
"""
from fractions import Fraction

DELAYS_NS = [1_000 * (100 + sequence * 7 % 200) for sequence in range(200)]

differences = [abs(later - sooner) for sooner, later in zip(DELAYS_NS, DELAYS_NS[1:])]
recursion = Fraction(0)
for difference in differences:
    recursion += (difference - recursion) / 16
last = len(differences) - 1
weighted = sum(Fraction(difference, 16) * Fraction(15, 16) ** (last - i) for i, difference in enumerate(differences))
assert recursion == weighted
print(float(recursion))
