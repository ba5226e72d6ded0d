"""The link's random numbers, apart from the Rust code: SplitMix64 and xoshiro256++ (Blackman and Vigna, ACM TOMS 2021)."""

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


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
