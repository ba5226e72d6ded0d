#!/usr/bin/env python3
"""The numbers that tests/suite/experiment.rs expects of the model, computed with fractions from the same made-up runs."""

import math
import statistics
from fractions import Fraction

points = []
for configuration in (1, 2):
    for seconds in (2, 4):
        for repeat in (1, 2, 3):
            rate = 100 * configuration + 10 * repeat
            product = rate * seconds * 566_000
            off = Fraction(2, 100) * (repeat - 2) * (Fraction(configuration) - Fraction(3, 2))
            points.append((Fraction(product), product * (1 + off)))

factor = sum(x * y for x, y in points) / sum(x * x for x, _ in points)
slope = statistics.linear_regression([float(x) for x, _ in points], [float(y) for _, y in points], proportional=True).slope
assert math.isclose(factor, slope, rel_tol=1e-12)
rest = sum((y - factor * x) ** 2 for x, y in points)
mean = sum(y for _, y in points) / len(points)
print("factor", repr(float(factor)))
print("r_squared", repr(float(1 - rest / sum((y - mean) ** 2 for _, y in points))))
print("deviation", repr(math.sqrt(rest / (len(points) - 1))))
print("largest", repr(float(max(abs(y - factor * x) / y for x, y in points))))
