#!/usr/bin/env python3
"""The fate of every packet under each queue discipline, computed from the documents that specify the disciplines, apart
from the Rust code: Floyd and Jacobson 1993 with the gentle variant, RFC 8289, RFC 8033, RFC 8290, RFC 9332.

    ./make_disciplines.py > disciplines.txt

One server of 8 Mbit/s (a byte takes 1,000 ns) sends the packets of `arrivals`. A line has the name of the case, the fate
of each packet in the order of arrival (`.` sent, `m` sent with a mark, `d` dropped), and a checksum over numbers and times
of the transmissions in their order.
"""

import math

from make_random import chance, derive, mix, stream

MASK = (1 << 64) - 1
MS = 1_000_000
NOT_ECT, ECT1, ECT0, CE = 0, 1, 2, 3
QUEUE, FLOW_QUEUE = 11, 12
SEED = 7


class Packet:
    def __init__(self, number, time, length, flow, ecn):
        self.number, self.time, self.length, self.flow, self.ecn = number, time, length, flow, ecn
        self.fate = "."

    def drop(self):
        self.fate = "d"

    def mark(self):
        """True where the packet can take a mark instead of a drop."""
        if self.ecn == NOT_ECT:
            return False
        if self.ecn != CE:
            self.fate = "m"
        self.ecn = CE
        return True


def arrivals(ecn_of, count=3000):
    """Bursts and pauses of seven flows, offered at about 1.2 times the rate, then at half of it, then none."""
    state = 20_240_229
    time = 0
    packets = []
    for number in range(count):
        state = state * 16_807 % 2_147_483_647
        load = 850 if number % 1000 < 800 else 1600
        time += (state % 1000) * 2 * load
        if number % 1000 == 999:
            time += 400 * MS
        state = state * 16_807 % 2_147_483_647
        length = (1500, 1500, 1000, 64)[state % 4]
        state = state * 16_807 % 2_147_483_647
        flow = state % 7 if state % 3 else 0
        packets.append(Packet(number, time, length, flow, ecn_of(flow)))
    return packets


def serve(queue, packets):
    """Sends packets over the server; `enqueue` and `dequeue` are called as routers do: at arrival, and at the start of each
    transmission."""
    checksum, busy_until, at = 0, None, 0
    arriving = iter(packets)
    packet = next(arriving, None)
    while packet is not None or busy_until is not None:
        if busy_until is not None and (packet is None or busy_until <= packet.time):
            now = busy_until
        else:
            now = packet.time
            queue.enqueue(now, packet)
            packet = next(arriving, None)
            if busy_until is not None:
                continue
        busy_until = None
        sent = queue.dequeue(now)
        if sent is not None:
            busy_until = now + sent.length * 1000
            checksum = (checksum * 1_000_003 + sent.number * 31 + busy_until) % (2**61 - 1)
    return checksum


class Fifo:
    def __init__(self):
        self.packets = []

    def __len__(self):
        return len(self.packets)

    @property
    def bytes(self):
        return sum(packet.length for packet in self.packets)

    def push(self, packet):
        self.packets.append(packet)

    def pop(self):
        return self.packets.pop(0) if self.packets else None


class CodelState:
    """RFC 8289, section 5. A mark takes the place of the drop, and its packet is sent."""

    TARGET, INTERVAL, MAXPACKET = 5 * MS, 100 * MS, 1500

    def __init__(self, ecn=True):
        self.first_above_time = 0
        self.drop_next = 0
        self.count = 0
        self.lastcount = 0
        self.dropping = False
        self.ecn = ecn

    def control_law(self, t):
        return t + int(self.INTERVAL / math.sqrt(self.count))

    def dodequeue(self, fifo, now):
        p = fifo.pop()
        if p is None:
            self.first_above_time = 0
            return None, False
        if now - p.time < self.TARGET or fifo.bytes <= self.MAXPACKET:
            self.first_above_time = 0
            return p, False
        if self.first_above_time == 0:
            self.first_above_time = now + self.INTERVAL
            return p, False
        return p, now >= self.first_above_time

    def dequeue(self, fifo, now):
        p, ok_to_drop = self.dodequeue(fifo, now)
        if self.dropping:
            if not ok_to_drop:
                self.dropping = False
            while self.dropping and now >= self.drop_next:
                self.count += 1
                if self.ecn and p.mark():
                    self.drop_next = self.control_law(self.drop_next)
                    return p
                p.drop()
                p, ok_to_drop = self.dodequeue(fifo, now)
                if not ok_to_drop:
                    self.dropping = False
                else:
                    self.drop_next = self.control_law(self.drop_next)
        elif ok_to_drop:
            if not (self.ecn and p.mark()):
                p.drop()
                p, ok_to_drop = self.dodequeue(fifo, now)
            self.dropping = True
            delta = self.count - self.lastcount
            self.count = 1
            if delta > 1 and now - self.drop_next < 16 * self.INTERVAL:
                self.count = delta
            self.drop_next = self.control_law(now)
            self.lastcount = self.count
        return p


class Codel:
    def __init__(self, limit_bytes, ecn=True):
        self.fifo, self.state, self.limit = Fifo(), CodelState(ecn), limit_bytes

    def enqueue(self, now, packet):
        if self.fifo.bytes + packet.length > self.limit:
            packet.drop()
        else:
            self.fifo.push(packet)

    def dequeue(self, now):
        return self.state.dequeue(self.fifo, now)


class Pie:
    """RFC 8033, appendix A, with the delay by timestamps; the enhancements of sections 5.1, 5.4 and 5.5."""

    QDELAY_REF, T_UPDATE, MAX_BURST = 15 * MS, 15 * MS, 150 * MS
    MEAN_PKTSIZE, MARK_ECN_TH = 1500, 0.1

    def __init__(self, limit_bytes, ecn=True, derandomize=False, cap=False):
        self.fifo, self.limit, self.ecn = Fifo(), limit_bytes, ecn
        self.derandomize, self.cap = derandomize, cap
        self.random = stream(SEED, QUEUE, 0)
        self.drop_prob = 0.0
        self.accu_prob = 0.0
        self.current_qdelay = self.qdelay_old = 0
        self.burst_allowance = self.MAX_BURST
        self.next_update = self.T_UPDATE

    def catch_up(self, now):
        while self.next_update <= now:
            self.calculate_drop_prob()
            self.next_update += self.T_UPDATE

    def calculate_drop_prob(self):
        current, old, ref = (x / 1e9 for x in (self.current_qdelay, self.qdelay_old, self.QDELAY_REF))
        p = 0.125 * (current - ref) + 1.25 * (current - old)
        for bound, divisor in ((1e-6, 2048), (1e-5, 512), (1e-4, 128), (1e-3, 32), (1e-2, 8), (1e-1, 2)):
            if self.drop_prob < bound:
                p /= divisor
                break
        if self.cap and self.drop_prob >= 0.1 and p > 0.02:
            p = 0.02
        self.drop_prob += p
        if self.current_qdelay == 0 and self.qdelay_old == 0:
            self.drop_prob *= 0.98
        self.drop_prob = min(1.0, max(0.0, self.drop_prob))
        self.burst_allowance = max(0, self.burst_allowance - self.T_UPDATE)
        half = self.QDELAY_REF / 2
        if self.drop_prob == 0 and self.current_qdelay < half and self.qdelay_old < half:
            self.burst_allowance = self.MAX_BURST
        self.qdelay_old = self.current_qdelay

    def drop_early(self):
        if self.qdelay_old < self.QDELAY_REF / 2 and self.drop_prob < 0.2:
            return False
        if self.fifo.bytes <= 2 * self.MEAN_PKTSIZE:
            return False
        if self.derandomize:
            if self.drop_prob == 0:
                self.accu_prob = 0.0
            self.accu_prob += self.drop_prob
            if self.accu_prob < 0.85:
                return False
            if self.accu_prob >= 8.5:
                self.accu_prob = 0.0
                return True
        if chance(self.random, self.drop_prob):
            self.accu_prob = 0.0
            return True
        return False

    def enqueue(self, now, packet):
        self.catch_up(now)
        if self.fifo.bytes + packet.length > self.limit:
            packet.drop()
            self.accu_prob = 0.0
        elif self.burst_allowance == 0 and self.drop_early():
            if self.ecn and self.drop_prob < self.MARK_ECN_TH and packet.mark():
                self.fifo.push(packet)
            else:
                packet.drop()
        else:
            self.fifo.push(packet)

    def dequeue(self, now):
        self.catch_up(now)
        packet = self.fifo.pop()
        self.current_qdelay = 0 if packet is None else now - packet.time
        return packet


class Red:
    """Floyd and Jacobson 1993, figure 2, with Floyd's gentle variant (2000)."""

    W, MIN, MAX, MAX_P = 0.002, 5, 15, 0.1

    def __init__(self, limit_bytes, packet_time, weight, ecn=True, gentle=True):
        self.fifo, self.limit, self.s, self.w = Fifo(), limit_bytes, packet_time, weight
        self.ecn, self.gentle = ecn, gentle
        self.random = stream(SEED, QUEUE, 0)
        self.avg, self.count, self.q_time = 0.0, -1, 0

    def enqueue(self, now, packet):
        if len(self.fifo):
            self.avg = (1 - self.w) * self.avg + self.w * len(self.fifo)
        else:
            self.avg *= (1 - self.w) ** ((now - self.q_time) // self.s)
            self.q_time = now
        signal, markable = self.judge()
        if signal and not (markable and self.ecn and packet.mark()):
            packet.drop()
        elif self.fifo.bytes + packet.length > self.limit:
            packet.drop()
            self.count = 0
        else:
            self.fifo.push(packet)

    def judge(self):
        """Whether congestion is to be signalled, and whether a mark may do it (RFC 3168, section 7)."""
        if self.avg < self.MIN:
            self.count = -1
            return False, False
        if self.avg < self.MAX:
            pb = self.MAX_P * (self.avg - self.MIN) / (self.MAX - self.MIN)
            markable = True
        elif self.gentle and self.avg < 2 * self.MAX:
            pb = self.MAX_P + (1 - self.MAX_P) * (self.avg - self.MAX) / self.MAX
            markable = False
        else:
            self.count = 0
            return True, False
        self.count += 1
        pa = pb / (1 - self.count * pb) if self.count * pb < 1 else 1.0
        if chance(self.random, pa):
            self.count = 0
            return True, markable
        return False, False

    def dequeue(self, now):
        packet = self.fifo.pop()
        if packet is not None and not len(self.fifo):
            self.q_time = now
        return packet


class FqCodel:
    """RFC 8290, section 4."""

    QUANTUM = 1514

    def __init__(self, flows, limit_packets):
        self.hash_seed = derive(SEED, FLOW_QUEUE, 0)
        self.queues = [(Fifo(), CodelState(), [0]) for _ in range(flows)]
        self.new, self.old, self.limit = [], [], limit_packets

    def index(self, flow):
        seed = self.hash_seed
        return mix((mix(flow ^ seed) + seed) & MASK) * len(self.queues) >> 64

    def enqueue(self, now, packet):
        index = self.index(packet.flow)
        fifo, _, deficit = self.queues[index]
        fifo.push(packet)
        if index not in self.new and index not in self.old:
            deficit[0] = self.QUANTUM
            self.new.append(index)
        if sum(len(queue[0]) for queue in self.queues) > self.limit:
            # The longest queue in bytes, of equal ones the first.
            fattest = max(self.queues, key=lambda queue: queue[0].bytes)[0]
            for _ in range(min(64, max(1, len(fattest) // 2))):
                fattest.pop().drop()

    def dequeue(self, now):
        while self.new or self.old:
            served = self.new or self.old
            index = served[0]
            fifo, state, deficit = self.queues[index]
            if deficit[0] <= 0:
                deficit[0] += self.QUANTUM
                self.old.append(served.pop(0))
                continue
            packet = state.dequeue(fifo, now)
            if packet is None:
                served.pop(0)
                if served is self.new:
                    self.old.append(index)
                continue
            deficit[0] -= packet.length
            return packet
        return None


class DualPi2:
    """RFC 9332, appendix A, with the overload control of A.2. The scheduler, which the RFC leaves open, serves the L queue
    unless the C queue has been denied its share."""

    K, TARGET, RTT_MAX = 2.0, 15 * MS, 100 * MS
    MIN_TH, RANGE, TH_LEN = 800_000, 400_000, 1
    SHARE_C = 0.0625

    def __init__(self, limit_bytes):
        self.limit = limit_bytes
        self.lq, self.cq = Fifo(), Fifo()
        self.count = {"l": 0.0, "c": 0.0}
        self.credit = 0.0
        self.period = min(self.TARGET, self.RTT_MAX // 3)
        self.alpha = 0.1 * (self.period / 1e9) / (self.RTT_MAX / 1e9 * (self.RTT_MAX / 1e9))
        self.beta = 0.3 / (self.RTT_MAX / 1e9)
        self.p_cmax = min(1 / (self.K * self.K), 1.0)
        self.base = 0.0
        self.prevq = 0
        self.next_update = self.period

    def catch_up(self, now):
        while self.next_update <= now:
            heads = [queue.packets[0].time for queue in (self.lq, self.cq) if len(queue)]
            curq = max((self.next_update - time for time in heads), default=0)
            base = self.base + self.alpha * ((curq - self.TARGET) / 1e9) + self.beta * ((curq - self.prevq) / 1e9)
            self.base = min(1.0, max(0.0, base))
            self.prevq = curq
            self.next_update += self.period

    def enqueue(self, now, packet):
        self.catch_up(now)
        if self.lq.bytes + self.cq.bytes + packet.length > self.limit:
            packet.drop()
        elif packet.ecn % 2 == 1:
            self.lq.push(packet)
        else:
            self.cq.push(packet)

    def recur(self, name, likelihood):
        self.count[name] += likelihood
        if self.count[name] > 1:
            self.count[name] -= 1
            return True
        return False

    def laqm(self, packet, now):
        if len(self.lq) < self.TH_LEN:
            return 0.0
        delay = now - packet.time
        if delay >= self.MIN_TH + self.RANGE:
            return 1.0
        return (delay - self.MIN_TH) / self.RANGE if delay > self.MIN_TH else 0.0

    def take(self):
        if len(self.cq) and (self.credit < 0 or not len(self.lq)):
            packet = self.cq.pop()
            if len(self.lq):
                self.credit += packet.length * (1 - self.SHARE_C)
            return packet, False
        packet = self.lq.pop()
        if len(self.cq):
            self.credit -= packet.length * self.SHARE_C
        return packet, True

    def dequeue(self, now):
        self.catch_up(now)
        p_c, p_cl = self.base * self.base, self.K * self.base
        while len(self.lq) or len(self.cq):
            packet, is_l = self.take()
            if is_l and p_cl < 1:
                if self.recur("l", max(self.laqm(packet, now), p_cl)):
                    packet.mark()
            elif is_l:
                if self.recur("l", p_c):
                    packet.drop()
                    continue
                if self.recur("l", p_cl):
                    packet.mark()
            elif self.recur("c", p_c):
                if packet.ecn == NOT_ECT or p_c >= self.p_cmax:
                    packet.drop()
                    continue
                packet.mark()
            return packet
        return None


def print_case(name, queue, ecn_of):
    packets = arrivals(ecn_of)
    checksum = serve(queue, packets)
    print(name, "".join(packet.fate for packet in packets), checksum)


if __name__ == "__main__":
    no_ecn, half, l4s = (
        lambda flow: NOT_ECT,
        lambda flow: ECT0 if flow % 2 else NOT_ECT,
        lambda flow: ECT1 if flow % 2 else (NOT_ECT, ECT0)[flow % 4 == 2],
    )
    print_case("codel", Codel(300_000), no_ecn)
    print_case("codel-ecn", Codel(300_000), half)
    print_case("codel-without-ecn", Codel(300_000, ecn=False), half)
    print_case("pie", Pie(250_000), no_ecn)
    print_case("pie-ecn", Pie(250_000), half)
    print_case("pie-enhanced", Pie(250_000, derandomize=True, cap=True), half)
    print_case("red", Red(100_000, 1_500_000, 0.002), no_ecn)
    print_case("red-ecn", Red(100_000, 1_500_000, 0.02), half)
    print_case("red-abrupt", Red(100_000, 1_500_000, 0.02, gentle=False), half)
    print_case("fq-codel-drops", FqCodel(1024, 10_240), no_ecn)
    print_case("fq-codel", FqCodel(1024, 10_240), lambda flow: ECT0 if flow % 2 == 0 else NOT_ECT)
    print_case("fq-codel-full", FqCodel(4, 60), half)
    print_case("dualpi2", DualPi2(250_000), l4s)
    print_case("dualpi2-overload", DualPi2(250_000), lambda flow: ECT1 if flow else ECT0)
