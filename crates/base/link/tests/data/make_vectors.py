#!/usr/bin/env python3
"""What the seeds of a link mean, computed apart from the Rust code: routes by hash, losses and jitter.

    ./make_vectors.py > vectors.txt
"""

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15
FORWARD, REVERSE, ECMP, LOSS, JITTER = 1, 2, 5, 7, 8


def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def derive(seed, purpose, index):
    first = mix((seed + GOLDEN) & MASK)
    second = mix((first + purpose * GOLDEN) & MASK)
    return mix((second + index * GOLDEN) & MASK)


def rotl(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def stream(seed, purpose, index):
    """xoshiro256++ whose state is filled by SplitMix64, as its authors advise."""
    start = derive(seed, purpose, index)
    s = [mix((start + step * GOLDEN) & MASK) for step in range(1, 5)]
    while True:
        yield (rotl((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)


def chance(numbers, probability):
    if probability <= 0:
        return False
    if probability >= 1:
        return True
    return (next(numbers) >> 11) / 2**53 < probability


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
