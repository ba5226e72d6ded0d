#!/usr/bin/env python3
"""Values that the test of proportion.rs expects: exact fractions, the standard library's regression for the factor, and
Student's quantile from tables (2.776445105197793 for four degrees of freedom, 97.5 %: R's qt(0.975, 4))."""

import math
import statistics
from fractions import Fraction

X = [100, 210, 405, 790, 1610]
Y = [104, 205, 420, 781, 1633]
STUDENT = 2.776445105197793

factor = Fraction(sum(x * y for x, y in zip(X, Y)), sum(x * x for x in X))
assert math.isclose(factor, statistics.linear_regression(X, Y, proportional=True).slope, rel_tol=1e-12)
rest = sum((y - factor * x) ** 2 for x, y in zip(X, Y))
mean = Fraction(sum(Y), len(Y))
deviation = math.sqrt(rest / (len(X) - 1))
half = STUDENT * deviation / math.sqrt(sum(x * x for x in X))
print("factor", repr(float(factor)))
print("low", repr(float(factor) - half))
print("high", repr(float(factor) + half))
print("r_squared", repr(float(1 - rest / sum((y - mean) ** 2 for y in Y))))
print("deviation", repr(deviation))
