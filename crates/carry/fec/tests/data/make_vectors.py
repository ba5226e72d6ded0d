#!/usr/bin/env python3
"""Makes reference.txt: coefficients, repairs and recoveries of the code of RFC 8681, computed from the RFCs' text alone.

Nothing here is shared with the crate: products are computed bit by bit, the generator follows the listing of RFC 8682,
the coefficients that of RFC 8681 section 3.6, symbols section 3.2, identifiers section 4.1.3, and lost sources come from
elimination over whole streams. Run it in its folder; it checks itself against the values that RFC 8682 publishes.

Lines of the file:
  coefficients KEY DT HEX                    one byte for each source of a window
  stream NAME N W DT FIRST_ESI FIRST_KEY     begins a stream: one repair for every N sources over the last W
  source FLOW PAYLOAD                        in the order of ESIs ("-" for no bytes)
  repair ID SYMBOL                           in the order in which they are made, the end of the stream included
  lost SOURCES REPAIRS RECOVERED             numbers in the stream, separated by commas ("-" for none): if these sources
                                             and repairs are lost, those sources are recovered
"""

import random

MASK = 0xFFFFFFFF


class TinyMt32:
    """RFC 8682, figure 1."""

    MAT1, MAT2, TMAT = 0x8F7011EE, 0xFC78FF1F, 0x3793FDFF

    def __init__(self, seed):
        status = [seed & MASK, self.MAT1, self.MAT2, self.TMAT]
        for i in range(1, 8):
            before = status[(i - 1) & 3]
            status[i & 3] ^= (i + 1812433253 * (before ^ (before >> 30))) & MASK
        self.status = status
        for _ in range(8):
            self.next_state()

    def next_state(self):
        status = self.status
        y = status[3]
        x = (status[0] & 0x7FFFFFFF) ^ status[1] ^ status[2]
        x ^= (x << 1) & MASK
        y ^= (y >> 1) ^ x
        status[0] = status[1]
        status[1] = status[2]
        status[2] = (x ^ (y << 10)) & MASK
        status[3] = y
        if y & 1:
            status[1] ^= self.MAT1
            status[2] ^= self.MAT2

    def generate(self):
        self.next_state()
        t0 = self.status[3]
        t1 = (self.status[0] + (self.status[2] >> 8)) & MASK
        t0 ^= t1
        if t1 & 1:
            t0 ^= self.TMAT
        return t0


def coefficients(key, count, density):
    """RFC 8681, section 3.6, for m = 8."""
    generator = TinyMt32(key)

    def nonzero():
        while True:
            value = generator.generate() & 0xFF
            if value:
                return value

    if density == 15:
        return [nonzero() for _ in range(count)]
    return [nonzero() if generator.generate() & 0xF <= density else 0 for _ in range(count)]


def multiply(a, b):
    """RFC 8681, section 3.7.1: polynomials modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    for bit in range(8):
        if b >> bit & 1:
            product ^= a << bit
    for bit in range(15, 7, -1):
        if product >> bit & 1:
            product ^= 0x11D << (bit - 8)
    return product


PRODUCTS = [[multiply(a, b) for b in range(256)] for a in range(256)]
INVERSES = [next((b for b in range(256) if PRODUCTS[a][b] == 1), None) for a in range(256)]


def add(to, source, factor):
    return bytes(x ^ PRODUCTS[factor][y] for x, y in zip(to, source))


def adui(flow, payload):
    return bytes([flow]) + len(payload).to_bytes(2, "big") + payload


class Repair:
    def __init__(self, key, density, first_esi, first, symbols):
        self.first, self.coefficients = first, coefficients(key, len(symbols), density)
        self.id = (key << 48 | density << 44 | len(symbols) << 32 | first_esi).to_bytes(8, "big")
        self.symbol = bytes(max(map(len, symbols)))
        for factor, symbol in zip(self.coefficients, symbols):
            self.symbol = add(self.symbol, symbol.ljust(len(self.symbol), b"\0"), factor)


def stream_repairs(symbols, n, w, density, first_esi, first_key):
    """All windows, the shorter ones at both ends included. A repair is begun with the first source of its window."""
    count = len(symbols)
    due, repairs = n, []
    while due <= count or max(due - w, 0) < count:
        first = max(due - w, 0)
        key = (first_key + len(repairs)) & 0xFFFF
        repairs.append(Repair(key, density, (first_esi + first) & MASK, first, symbols[first:due]))
        due += n
    return repairs


def recovered(symbols, lost, repairs):
    """Gauss and Jordan over all lost sources at once."""
    size = max(map(len, symbols))
    rows = []
    for repair in repairs:
        row, data = {}, repair.symbol.ljust(size, b"\0")
        for number, factor in enumerate(repair.coefficients, repair.first):
            if number in lost:
                if factor:
                    row[number] = factor
            else:
                data = add(data, symbols[number].ljust(size, b"\0"), factor)
        rows.append((row, data))
    used = set()
    for column in sorted(lost):
        pivot = next((index for index, (row, _) in enumerate(rows) if column in row and index not in used), None)
        if pivot is None:
            continue
        used.add(pivot)
        row, data = rows[pivot]
        inverse = INVERSES[row[column]]
        row, data = {k: PRODUCTS[inverse][v] for k, v in row.items()}, add(bytes(size), data, inverse)
        rows[pivot] = row, data
        for index, (other, other_data) in enumerate(rows):
            factor = other.get(column, 0)
            if index != pivot and factor:
                sums = {k: other.get(k, 0) ^ PRODUCTS[factor][row.get(k, 0)] for k in other.keys() | row.keys()}
                rows[index] = {k: v for k, v in sums.items() if v}, add(other_data, data, factor)
    found = []
    for row, data in rows:
        if len(row) == 1:
            (number, factor), = row.items()
            assert add(bytes(size), data, INVERSES[factor]) == symbols[number].ljust(size, b"\0")
            found.append(number)
    return sorted(found)


def numbers(values):
    return ",".join(map(str, values)) or "-"


def main():
    published = TinyMt32(1)
    assert [published.generate() for _ in range(5)] == [2545341989, 981918433, 3715302833, 2387538352, 3591001365]
    assert PRODUCTS[2][0x80] == 0x1D and PRODUCTS[0x8E][2] == 1
    chance = random.Random(8681)
    lines = []
    for density in range(16):
        for key in (0, 1, 0xFFFF, chance.randrange(65536)):
            lines.append(f"coefficients {key} {density} {bytes(coefficients(key, 64, density)).hex()}")
    streams = [
        ("plain", 4, 16, 15, 0, 0, 60, 0.1),
        ("dense", 12, 96, 15, 7, 100, 240, 0.05),
        ("sparse", 3, 20, 5, 1000, 65530, 60, 0.2),
        ("wrapping", 5, 12, 15, MASK - 25, 65534, 60, 0.15),
        ("every", 1, 4, 15, 5, 9, 30, 0.45),
    ]
    for name, n, w, density, first_esi, first_key, count, loss in streams:
        lines.append(f"stream {name} {n} {w} {density} {first_esi} {first_key}")
        symbols = []
        for _ in range(count):
            flow, payload = chance.randrange(4), chance.randbytes(chance.choice([0, 1, 5, 20, 20, 20]))
            symbols.append(adui(flow, payload))
            lines.append(f"source {flow} {payload.hex() or '-'}")
        repairs = stream_repairs(symbols, n, w, density, first_esi, first_key)
        lines += [f"repair {repair.id.hex()} {repair.symbol.hex()}" for repair in repairs]
        for _ in range(6):
            lost = [number for number in range(count) if chance.random() < loss]
            lost_repairs = [number for number in range(len(repairs)) if chance.random() < loss]
            kept = [repair for number, repair in enumerate(repairs) if number not in lost_repairs]
            found = recovered(symbols, set(lost), kept)
            lines.append(f"lost {numbers(lost)} {numbers(lost_repairs)} {numbers(found)}")
    with open("reference.txt", "w", encoding="ascii") as file:
        file.write("\n".join(lines) + "\n")


main()
