#!/usr/bin/env python3
"""Reads what the tools under test print, and draws the tables of flows.sh, rtt.sh, link.sh and carry_links.sh.

    figures.py iperf3 FILE           rate at the receiver in bit/s, packets sent, packets lost
    figures.py weir FILE             the same
    figures.py flows FILE            tables from the rows that flows.sh collects
    figures.py rtt-irtt FILE         median round trip in ns
    figures.py rtt-weir FILE FIELD   the same; FIELD is rtt or network_rtt
    figures.py rtt FILE              table from the rows that rtt.sh collects
    figures.py iperf3-tcp FILE       goodput in bit/s of a TCP run
    figures.py link-tcp FILE         the same across `weir lab run --json`, then cores that the link took, its lateness
                                     P50 and P99 in ns, packets that it lost by its own fault
    figures.py link-udp FILE         the same of a UDP run
    figures.py link-idle FILE FIELD RTT   P50 and P99 of the round trip above RTT, in ns; FIELD as above
    figures.py link-flows FILE       rate, packets sent and lost, packets that the link lost, cores, lateness P99 in ns
    figures.py tcp-head              the heads of the columns of the next
    figures.py tcp NAME FILE MODEL   a row of what `kernel_tcp.py send` printed across the link, and of the model
    figures.py carry-link-head       the heads of the columns of the next
    figures.py carry-link NAME FILE LINK   a row of what `weir recv --json` printed, and the link's account
    figures.py link FILE             tables from the rows that link.sh collects
"""

import json
import statistics
import sys
from collections import namedtuple

ROW_FIELDS = "case length tool kind rate sent lost send_ms receive_ms seconds"
Row = namedtuple("Row", ROW_FIELDS)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def iperf3_figures(path):
    """iperf3 3.12 gives the sender's rate as the receiver's, so the receiver's is worked out from its counters."""
    result = load(path)
    total = result["end"]["sum"]
    length = result["start"]["test_start"]["blksize"]
    sent = result["end"]["sum_sent"]["packets"]
    received = total["packets"] - total["lost_packets"]
    # Packets lost after the last one that arrived are missing from lost_packets.
    return round(received * length * 8 / total["seconds"]), sent, max(sent - received, total["lost_packets"])


def weir_figures(path):
    result = load(path)["forward"]
    return round(result["rate"]), result["sent"], result["lost"]


def irtt_figure(path):
    return load(path)["stats"]["rtt"]["median"]


def weir_rtt_figure(path, field):
    return load(path)[field]["p50"]


def read_rows(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            case, length, tool, kind, *numbers = line.rstrip("\n").split("\t")
            yield Row(case, int(length), tool, kind, *map(int, numbers))


def gigabits(row):
    return (row.sent - row.lost) * row.length * 8 / 1e9


def per_gigabit(row, milliseconds):
    return f"{milliseconds / 1000 / gigabits(row):.3f}" if gigabits(row) else "-"


def cores(row, milliseconds):
    return f"{milliseconds / 1000 / row.seconds:.2f}"


def gbit(row):
    return f"{row.rate / 1e9:.2f}" if row else "-"


def loss(row):
    return f"{row.lost / row.sent:.1e}" if row.lost else "0"


def ratio(rows, case, kind):
    ours, theirs = rows.get((case, "weir", kind)), rows.get((case, "iperf3", kind))
    return f"{ours.rate / theirs.rate:.2f}" if ours and theirs and theirs.rate else "-"


def draw(head, body):
    table = [head, ["-" * len(cell) for cell in head], *body]
    widths = [max(len(row[i]) for row in table) for i in range(len(head))]
    for row in table:
        cells = [row[0].ljust(widths[0]), row[1].ljust(widths[1])]
        cells += [cell.rjust(width) for cell, width in zip(row[2:], widths[2:])]
        print("| " + " | ".join(cells) + " |")
    print()


def search_line(rows, case, tool):
    best, flat = rows.get((case, tool, "clean")), rows.get((case, tool, "flat"))
    line = [case, tool, gbit(best)]
    if best:
        line += [f"{best.rate / 8 / best.length:,.0f}"]
        line += [per_gigabit(best, best.send_ms), per_gigabit(best, best.receive_ms)]
    else:
        line += ["-", "-", "-"]
    line += [gbit(flat), loss(flat) if flat else "-"]
    weir = tool == "weir"
    return line + [ratio(rows, case, "clean") if weir else "", ratio(rows, case, "flat") if weir else ""]


def draw_flows(path):
    found = list(read_rows(path))
    rows = {(row.case, row.tool, row.kind): row for row in found}
    pairs = dict.fromkeys((row.case, row.tool) for row in found)
    print("Highest rate without loss (at most 0.001 %), and flat out. Rates are payload at the receiver; CPU is that of the")
    print("whole process at the rate without loss, in seconds for each gigabit received.\n")
    draw(
        ["case", "tool", "Gbit/s", "packets/s", "CPU send", "CPU receive", "flat out", "its loss", "Weir/iperf3", "flat"],
        [search_line(rows, case, tool) for case, tool in pairs],
    )
    formats = [row for row in found if row.kind not in ("clean", "flat")]
    if formats:
        print("Weir at the rates of two video formats; CPU in cores.\n")
        draw(
            ["case", "format", "seconds", "Gbit/s", "sent", "lost", "loss", "CPU send", "CPU receive"],
            [
                [row.case, row.kind, str(row.seconds), gbit(row), str(row.sent), str(row.lost), loss(row)]
                + [cores(row, row.send_ms), cores(row, row.receive_ms)]
                for row in formats
            ],
        )


def draw_rtt(path):
    """Rows of rtt.sh: what was measured, which tool, nanoseconds."""
    found = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            what, tool, value = line.rstrip("\n").split("\t")
            found.setdefault(what, {}).setdefault(tool, []).append(int(value))
    body = []
    for what, tools in found.items():
        medians = {tool: statistics.median(values) for tool, values in tools.items()}
        for tool, values in tools.items():
            share = f"{medians['weir'] / medians['irtt']:.2f}" if tool == "weir" and "irtt" in medians else ""
            repeats = "  ".join(f"{value / 1000:.1f}" for value in values)
            body.append([what, tool, repeats, f"{medians[tool] / 1000:.1f}", share])
    draw(["round trip", "tool", "P50 of each repeat, us", "median, us", "Weir/irtt"], body)


def load_with_account(path):
    """What a command printed as JSON, and the link's account in the last line."""
    with open(path, encoding="utf-8") as file:
        *printed, account = file.read().splitlines()
    return json.loads("\n".join(printed)), json.loads(account)


def tcp_goodput(result):
    return round(result["end"]["sum_received"]["bits_per_second"])


def udp_goodput(result):
    """iperf3 3.12 gives the sender's rate as the receiver's, so the receiver's is worked out from its counters."""
    total = result["end"]["sum"]
    received = total["packets"] - total["lost_packets"]
    return round(received * result["start"]["test_start"]["blksize"] * 8 / total["seconds"])


def own_losses(account):
    return sum(sum(account[way]["own_losses"].values()) for way in ("forward", "reverse"))


def cores_of_link(account):
    return (account["forward"]["cpu_ns"] + account["reverse"]["cpu_ns"]) / account["duration_ns"]


def link_figures(path, goodput):
    result, account = load_with_account(path)
    late = account["forward"]["lateness"]
    return goodput(result), f"{cores_of_link(account):.3f}", late["p50"], late["p99"], own_losses(account)


def link_idle_figures(path, field, set_rtt):
    with open(path, encoding="utf-8") as file:
        rtt = json.loads(file.readline())[field]
    return rtt["p50"] - int(set_rtt), rtt["p99"] - int(set_rtt)


def link_flows_figures(path):
    result, account = load_with_account(path)
    flows = result["forward"]
    lateness = account["forward"]["lateness"]["p99"]
    cores_taken = f"{cores_of_link(account):.3f}"
    return round(flows["rate"]), flows["sent"], flows["lost"], own_losses(account), cores_taken, lateness


TCP = "{:<16} {:>8} {:>8} {:>6}   {:>8} {:>8} {:>6}   {:>8} {:>8} {:>6}   {:>7} {:>7} {:>7} {:>9}"


def draw_tcp_head():
    whats = ("Mbit/s", "RTT mean", "RTT P95", "dropped")
    heads = [head for what in whats for head in (what, "model", "share")]
    print(TCP.format("", *heads, "late P99"))


def draw_tcp(name, path, model):
    """Payload over the whole run; smoothed RTT of the first connection, each 100 ms, in ms."""
    result, account = load_with_account(path)
    forward = account["forward"]
    rtts = sorted(rtt / 1e3 for rtt in result["rtts_us"])
    kernel = (
        result["bytes"] * 8 / 1e6 / result["seconds"],
        statistics.mean(rtts),
        rtts[len(rtts) * 95 // 100],
        forward["dropped"]["queue"],
    )
    with open(model, encoding="utf-8") as file:
        modelled = [float(value) for value in file.readline().split()]
    rate, mean, p95, offered, dropped = modelled
    columns = []
    for real, virtual in zip(kernel, (rate, mean, p95, dropped)):
        share = f"{virtual / real:.2f}" if real else "-"
        columns += [f"{real:.1f}", f"{virtual:.1f}", share]
    print(TCP.format(name, *columns, f"{forward['lateness']['p99'] / 1e6:.2f} ms"))


CARRY_LINK = "{:<10} {:>7} {:>7} {:>8} {:>8} {:>6} {:>8} {:>8} {:>8} {:>9} {:>8} {:>8} {:>9} {:>9} {:>9} {:>5}"
CARRY_LINK_HEAD = (
    "case", "seconds", "frames", "not", "packets", "lost", "by FEC", "by ARQ", "by other", "left", "out P50",
    "P99.9", "link CPU", "late P99", "late max", "own",
)


def draw_carry_link_head():
    print(CARRY_LINK.format(*CARRY_LINK_HEAD))
    print("(not: frames that were damaged, lost, dropped for a slow reader; times in ms; own: packets that the link lost by its own fault, which count as lost)")


def draw_carry_link(name, path, link):
    result, account = load(path), load(link)
    senders = result["senders"]

    def total(field):
        return sum(sender[field] for sender in senders)

    whole = result["frames_verified"] - result["frames_unequal"]
    others = "/".join(str(result[name]) for name in ("frames_damaged", "frames_lost", "frames_dropped"))
    delay = result["delay"]
    print(
        CARRY_LINK.format(
            name, f"{result['duration_ns'] / 1e9:.0f}", whole, others, total("received"), total("lost"),
            total("recovered"), total("retransmitted"), total("elsewhere"), total("unrepaired"),
            f"{delay['p50'] / 1e6:.1f}", f"{delay['p999'] / 1e6:.1f}", f"{cores_of_link(account):.2f}",
            f"{account['reverse']['lateness']['p99'] / 1e6:.2f}", f"{account['reverse']['lateness']['max'] / 1e6:.1f}",
            own_losses(account),
        )
    )


IDLE = {"network_rtt": "between kernel timestamps", "rtt": "application to application"}


def microseconds(nanoseconds):
    return nanoseconds if nanoseconds == "-" else f"{int(nanoseconds) / 1000:.0f}"


def draw_link(path):
    """Rows of link.sh: the part, then its fields."""
    rows = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            part, *fields = line.rstrip("\n").split("\t")
            rows.setdefault(part, []).append(fields)
    megabits = lambda rate: f"{int(rate) / 1e6:,.1f}"
    if "goodput" in rows:
        draw(
            ["Mbit/s", "iperf3", "goodput, Mbit/s", "link, cores", "late P50, us", "late P99, us", "own losses"],
            [[r[0], r[1], megabits(r[2]), r[3], microseconds(r[4]), microseconds(r[5]), r[6]] for r in rows["goodput"]],
        )
    if "tbf" in rows:
        found = {}
        for _, by, rate in rows["tbf"]:
            found.setdefault(by, []).append(int(rate))
        medians = {by: statistics.median(values) for by, values in found.items()}
        draw(
            ["bottleneck by", "goodput of each repeat, Mbit/s", "median", "Weir/tbf"],
            [
                [by, "  ".join(megabits(v) for v in values), megabits(medians[by])]
                + [f"{medians['Weir'] / medians['tbf']:.4f}" if by == "Weir" else ""]
                for by, values in found.items()
            ],
        )
    if "idle" in rows:
        draw(
            ["idle link", "above the set RTT", "P50, us", "P99, us"],
            [[r[0], IDLE[r[1]], microseconds(r[2]), microseconds(r[3])] for r in rows["idle"]],
        )
    if "flows" in rows:
        draw(
            ["payload", "8 flows", "Gbit/s", "sent", "lost", "by the link", "link, cores", "late P99, us"],
            [
                [r[0], "2.5 Gbit/s", f"{int(r[1]) / 1e9:.3f}", f"{int(r[2]):,}", r[3], r[4], r[5], microseconds(r[6])]
                for r in rows["flows"]
            ],
        )


def main(arguments):
    commands = {
        "iperf3": lambda path: print(*iperf3_figures(path)),
        "weir": lambda path: print(*weir_figures(path)),
        "flows": draw_flows,
        "rtt-irtt": lambda path: print(irtt_figure(path)),
        "rtt-weir": lambda path, field: print(weir_rtt_figure(path, field)),
        "rtt": draw_rtt,
        "iperf3-tcp": lambda path: print(tcp_goodput(load(path))),
        "link-tcp": lambda path: print(*link_figures(path, tcp_goodput)),
        "link-udp": lambda path: print(*link_figures(path, udp_goodput)),
        "link-idle": lambda path, field, rtt: print(*link_idle_figures(path, field, rtt)),
        "link-flows": lambda path: print(*link_flows_figures(path)),
        "link": draw_link,
        "tcp-head": draw_tcp_head,
        "tcp": draw_tcp,
        "carry-link-head": draw_carry_link_head,
        "carry-link": draw_carry_link,
    }
    if not arguments or arguments[0] not in commands:
        sys.exit(__doc__)
    commands[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    main(sys.argv[1:])
