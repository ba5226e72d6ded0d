#!/usr/bin/env python3
"""What the seeds of a link mean, computed apart from the Rust code: routes by hash, losses and jitter.

    ./make_vectors.py > vectors.txt
"""

from make_random import MASK, chance, derive, mix, stream

FORWARD, REVERSE, ECMP, LOSS, JITTER = 1, 2, 5, 7, 8


def lost_bernoulli(seed, loss, packets):
    numbers = stream(seed, LOSS, 0)
    return [number for number in range(packets) if chance(numbers, loss)]


def lost_gilbert_elliott(seed, to_bad, to_good, loss_good, loss_bad, packets):
    numbers = stream(seed, LOSS, 0)
    bad = chance(numbers, to_bad / (to_bad + to_good))
    lost = []
    for number in range(packets):
        if chance(numbers, loss_bad if bad else loss_good):
            lost.append(number)
        if chance(numbers, to_good if bad else to_bad):
            bad = not bad
    return lost


def routes(seed, weights, flows):
    seed = derive(seed, ECMP, 0)
    taken = []
    for flow in range(flows):
        share = mix((mix(flow ^ seed) + seed) & MASK) * sum(weights) >> 64
        route = 0
        while share >= weights[route]:
            share -= weights[route]
            route += 1
        taken.append(route)
    return taken


def jitter(seed, most, packets):
    numbers = stream(seed, JITTER, 0)
    return [next(numbers) * (most + 1) >> 64 for _ in range(packets)]


def line(name, values):
    print(name, *values)


for seed in (0, 1, 2**64 - 1):
    for direction, purpose in (("forward", FORWARD), ("reverse", REVERSE)):
        own = derive(seed, purpose, 0)
        where = f"{seed} {direction}"
        line(f"{where} bernoulli", lost_bernoulli(own, 0.1, 500))
        line(f"{where} gilbert_elliott", lost_gilbert_elliott(own, 0.02, 0.25, 0.01, 0.8, 500))
        line(f"{where} routes", routes(own, [1, 2, 4], 60))
        line(f"{where} jitter", jitter(own, 1_000_000, 60))
