#!/usr/bin/env python3
"""Makes lte.toml. The rates are invented: a random walk of the logarithm that returns to its mean, one step a second,
as the rates of public LTE traces wander between hundreds of kbit/s and tens of Mbit/s; and one handover. Run it in its
folder: python3 make_lte.py > lte.toml"""

import math
import random

HEAD = """\
# A phone on LTE: a rate that wanders between 1.6 and 36.7 Mbit/s, jitter, a deep queue
#
# Invented, in the spirit of public LTE traces such as those recorded with Saturator (Winstein et al., NSDI 2013): the
# rates are from make_lte.py and follow no measurement. 60 s, then again from the start; forward is down to the phone,
# reverse is up. In the 31st second is a handover, in which nothing is sent. The air interface delivers in order, so the
# jitter reorders nothing. The queue holds about a second of the mean rate.

rtt = "50ms"
jitter = "8ms"
"""


def walk(seed, middle, least, most, seconds=60, memory=0.85, spread=0.35):
    """Rates in Mbit/s, one for each second."""
    generator = random.Random(seed)
    level = 0.0
    rates = []
    for _ in range(seconds):
        level = memory * level + generator.gauss(0, spread)
        rate = min(max(middle * math.exp(level), least), most)
        rates.append(round(rate, 1))
    return rates


def steps(rates, handover):
    """Steps as TOML text, the handover of 0.4 s taken out of its second."""
    texts = []
    for second, rate in enumerate(rates):
        if second == handover:
            texts += ['"400ms 0"', f'"600ms {rate:g}Mbit/s"']
        else:
            texts.append(f'"1s {rate:g}Mbit/s"')
    lines = [", ".join(texts[at:at + 6]) for at in range(0, len(texts), 6)]
    return "rate = { steps = [\n" + "".join(f"    {line},\n" for line in lines) + "] }"


def direction(name, rates, queue):
    return f'\n[{name}]\nqueue = "{queue}"\n{steps(rates, handover=30)}\n'


print(HEAD + direction("forward", walk(3, 13.0, 1.0, 40.0), "1250kB")
      + direction("reverse", walk(6, 5.0, 0.5, 15.0), "650kB"), end="")
