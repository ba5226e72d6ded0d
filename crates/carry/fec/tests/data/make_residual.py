#!/usr/bin/env python3
"""Makes residual.json: the residual loss rate, computed and not simulated, for the sliding window code and
for Reed-Solomon blocks, when packets are lost independently with probability p. Run it in its folder (some minutes).

The code. After every n sources comes a repair over the last w. It is useful only as far as its rank goes, and for
coefficients from a large field the rank equals that of the best matching of repairs with missing sources. All windows have
the same length, so matching each repair with the oldest missing source that has none yet, in its window, is best: the
missing sources are a queue, first come, first served, with one served by each repair that arrives. A source that is not
served before it has left the window takes everything along that was served since the queue was last empty, because their
equations all have it in them; if the queue becomes empty, everything in it is recovered at that moment. A source whose
moment comes D or more packets after it was sent is too late.

Nothing need be known of the sources behind the head of the queue until its turn comes, so the state is the head's age,
which makes the computation exact and small: for each age of the head its probability, and the expected number of
sources of each age that were served and wait.

GF(256) is not so large a field: the last equation of several has a chance of about 1 in 256 to say nothing new.

`--check` compares the recursion, for short streams, with all patterns of loss, each decided by elimination.
"""

import itertools
import json
import math
import random
import sys


class Queue:
    """The missing sources, from the first source of a stream on."""

    def __init__(self, n, w, deadline, p, field=256):
        assert n <= w <= deadline
        self.n, self.w, self.deadline, self.p = n, w, deadline, p
        # The last of several equations is empty with this probability.
        self.miss = 1 / field if field else 0.0
        self.empty = 1.0
        self.head = [0.0] * w  # by age: the probability that the oldest unserved source has it
        self.fresh = [0.0] * w  # of that, with nothing served since the queue was empty
        self.served = [[0.0] * deadline for _ in range(w)]  # by the head's age: sources by age, expected
        self.lost = 0.0  # expected number so far
        self.steps = 0
        self.lost_by_number = None  # of each source, for the check

    def lose(self, first_age, amounts):
        """Expected losses of sources of this age and each one more."""
        self.lost += sum(amounts)
        if self.lost_by_number is not None:
            for age, amount in enumerate(amounts, first_age):
                number = self.steps * self.n - 1 - age
                if amount:
                    self.lost_by_number[number] = self.lost_by_number.get(number, 0.0) + amount

    def step(self):
        """n sources and a repair."""
        n, w, p, deadline = self.n, self.w, self.p, self.deadline
        self.steps += 1
        head, fresh = [0.0] * w, [0.0] * w
        served = [None] * w
        # Sources grow older; those that are served and too old are lost.
        out = 0.0
        for age in range(w):
            mass = self.head[age]
            if not mass:
                continue
            self.lose(deadline, self.served[age][deadline - n:])
            older = [0.0] * n + self.served[age][:deadline - n]
            if age + n < w:
                head[age + n], fresh[age + n], served[age + n] = mass, self.fresh[age], older
                continue
            # The head has left the window, and takes what was served along.
            self.lose(0, older)
            # Younger ones may have left too: each is missing with probability p. The next head is found below.
            self.lose(w, [mass * p] * (age + n - w) + [mass])
            out += mass
        # The next head of those: from the oldest of the window on; of the empty queue: from the oldest new one.
        carry = out
        for age in range(w - 1, -1, -1):
            if age == n - 1:
                carry += self.empty
            if carry:
                head[age] += carry * p
                fresh[age] += carry * p
                carry *= 1 - p
        empty = carry
        # The repair serves the head, unless it is lost too.
        blank = [0.0] * deadline
        new_head, new_fresh = [0.0] * w, [0.0] * w
        new_served = [blank] * w
        carry, carried = 0.0, [0.0] * deadline
        for age in range(w - 1, -1, -1):
            mass, waits = head[age], served[age] or blank
            # Heads of higher age were served: this one is next with probability p.
            kept = p * mass + p * carry
            if mass or carry:
                row = [p * (a + b) for a, b in zip(waits, carried)]
                new_head[age], new_fresh[age] = kept, p * fresh[age]
            else:
                row = blank
            if carry:
                carry *= 1 - p
                carried = [(1 - p) * value for value in carried]
            if mass:
                # Served; if none is behind it, the equation may be an empty one, and it stays.
                last = (1 - p) ** age * self.miss
                stays = (1 - p) * (mass - fresh[age]) * last
                new_head[age] += stays
                row = [value + (1 - p) * last * more for value, more in zip(row, waits)]
                carry += (1 - p) * mass - stays
                carried = [value + (1 - p) * (1 - last) * more for value, more in zip(carried, waits)]
                carried[age] += (1 - p) * mass - stays
            new_served[age] = row
        self.empty = empty + carry
        self.head, self.fresh, self.served = new_head, new_fresh, new_served


def residual(n, w, deadline, p):
    """The long-run residual loss rate of sources."""
    queue = Queue(n, w, deadline, p)
    before, rate, calm = 0.0, 0.0, 0
    for step in range(20_000):
        queue.step()
        new = (queue.lost - before) / n
        before = queue.lost
        calm = calm + 1 if step * n > 2 * deadline and abs(new - rate) <= 1e-7 * new else 0
        rate = new
        if calm >= 5:
            break
    return rate


def block_residual(sources, repairs, p):
    """The same for a block code that recovers everything from any `sources` of its packets, and else nothing."""
    others = sources + repairs - 1
    return p * sum(math.comb(others, k) * p**k * (1 - p) ** (others - k) for k in range(repairs, others + 1))


PRIME = 2**61 - 1


def rank_and_determined(equations, unknowns):
    """Which unknowns a system determines, over a large field."""
    rows = [dict(row) for row in equations]
    used = []
    for column in unknowns:
        pivot = next((row for row in rows if row.get(column) and not any(row is u for u in used)), None)
        if pivot is None:
            continue
        used.append(pivot)
        inverse = pow(pivot[column], -1, PRIME)
        for row in rows:
            if row is not pivot and row.get(column):
                factor = row[column] * inverse % PRIME
                for key, value in pivot.items():
                    row[key] = (row.get(key, 0) - factor * value) % PRIME
    return {next(k for k, v in row.items() if v) for row in rows if sum(1 for v in row.values() if v) == 1}


def by_all_patterns(n, w, deadline, p, steps):
    """The expected number of lost sources among those that are too late after this many steps."""
    chance = random.Random(5)
    total = n * steps
    expected = 0.0
    for pattern in itertools.product((0, 1), repeat=total + steps):
        lost = {source for source in range(total) if pattern[source]}
        if not lost:
            continue
        probability = math.prod(p if gone else 1 - p for gone in pattern)
        in_time, equations = set(), []
        for step in range(steps):
            end = n * (step + 1)
            if not pattern[total + step]:
                window = range(max(end - w, 0), end)
                equations.append({s: chance.randrange(1, PRIME) for s in window if s in lost})
                known = rank_and_determined(equations, sorted(s for s in lost if s < end))
                in_time |= {source for source in known if end - 1 - source < deadline}
        decided = {source for source in lost if total - 1 - source >= deadline}
        expected += probability * len(decided - in_time)
    return expected


def check():
    for n, w, deadline, steps in ((1, 2, 2, 6), (2, 4, 4, 5), (2, 3, 5, 5), (3, 4, 4, 4), (2, 5, 6, 5), (1, 3, 4, 7)):
        for p in (0.1, 0.3, 0.6):
            queue = Queue(n, w, deadline, p, field=0)
            queue.lost_by_number = {}
            for _ in range(steps):
                queue.step()
            decided = range(n * steps - deadline)
            lost = sum(queue.lost_by_number.get(number, 0.0) for number in decided)
            expected = by_all_patterns(n, w, deadline, p, steps)
            print(f"{n}/{w}, deadline {deadline}, p {p}, {steps} repairs: {lost:.12f} {expected:.12f}")
            assert math.isclose(lost, expected, rel_tol=1e-9), "the recursion is wrong"


def table(rates, losses):
    rows = []
    for n, w in rates:
        for p in losses:
            rows.append({
                "sources": n, "window": w, "deadline": w, "loss": p,
                "residual": residual(n, w, w, p),
                "block": block_residual(w, w // n, p),
            })
            print(rows[-1], file=sys.stderr)
    return rows


def main():
    if "--check" in sys.argv:
        return check()
    tested = table([(2, 4), (3, 8), (4, 16), (6, 24), (10, 40), (5, 12)], [0.02, 0.05, 0.1])
    fine = [round(10 ** (-3 + exponent / 12), 6) for exponent in range(0, 27)]
    rates = [(64, 128), (20, 80), (12, 48), (12, 96), (6, 48)]
    drawn = table(rates, fine)
    # The loss rates of examples/residual.rs.
    compared = table(rates, [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.07, 0.1])
    late = [{"sources": 12, "window": 96, "deadline": d, "loss": p, "residual": residual(12, 96, d, p)}
            for d in (96, 192, 640) for p in (0.02, 0.05)]
    with open("residual.json", "w", encoding="ascii") as file:
        lists = {"tested": tested, "late": late, "drawn": drawn, "compared": compared}
        rows = lambda values: ",\n".join("  " + json.dumps(value) for value in values)
        file.write("{\n" + ",\n".join(f' "{name}": [\n{rows(values)}\n ]' for name, values in lists.items()) + "\n}\n")


main()
