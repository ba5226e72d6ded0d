#!/usr/bin/env python3
"""Percentile bootstrap intervals of a difference of medians, by going through all resamples with exact fractions.

Prints the values that src/bootstrap.rs expects.
"""
from collections import Counter
from fractions import Fraction
from itertools import product
from statistics import median

UNPACED = [48.3, 47.1, 50.2, 46.0, 49.5]
PACED = [12.5, 12.1, 13.0, 11.8, 12.9]


def medians(sample):
    return Counter(median(drawn) for drawn in product(sample, repeat=len(sample)))


def interval(first, second, left_out=Fraction(5, 100)):
    a, b = medians(first), medians(second)
    whole = sum(a.values()) * sum(b.values())
    differences = Counter()
    for (x, n), (y, m) in product(a.items(), b.items()):
        differences[y - x] += n * m

    def beyond(ordered):
        seen = 0
        for value in ordered:
            seen += differences[value]
            if Fraction(seen, whole) > left_out / 2:
                return value

    return beyond(sorted(differences)), beyond(sorted(differences, reverse=True))


print("odd ", interval(UNPACED, PACED))
print("even", interval(UNPACED[:4], PACED))
