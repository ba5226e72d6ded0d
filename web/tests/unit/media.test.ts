import { expect, test } from "vitest";
import type { Layer } from "../../src/charts/model";
import type { Run } from "../../src/data/document";
import { Table } from "../../src/data/table";
import { flowLanesOfSender, flowStates } from "../../src/drawings/flow-states";
import { framesOf, framesSentence, overall, wholeShare } from "../../src/drawings/frames";
import { perNs, recvCpu, recvLate, recvLoss, repairSentence } from "../../src/drawings/received";
import { accountOf, expected, flowsOf, senderName, senders } from "../../src/drawings/senders";
import { sendCode, sendTrouble } from "../../src/drawings/sent";
import { stackOf } from "../../src/drawings/stack";
import { contextOf } from "../../src/kinds/describe";
import { descriptionOf } from "../../src/kinds/registry";
// @ts-expect-error: a script of its own, without types
import { mergedRun, recvRun, run, sendRun, series, silentRun } from "../fixtures.mjs";

const context = (one: Run) => contextOf(one, [one]);
const nothing = (kind: string): Run => run(1, kind, {});

test("a flow is used before its first change, and each state lasts until the next", () => {
  const base = recvRun(1, { seconds: 30 });
  const { lanes, left } = flowStates(context(base));
  expect(lanes).toHaveLength(16);
  expect(lanes[0]).toMatchObject({ name: "flow 0", summary: "used all the time" });
  expect(lanes[5]!.states).toEqual({
    used: { at: [0, 21.08e9], duration: [20.03e9, 8.92e9], value: [20.03e9, 8.92e9] },
    silent: { at: [20.03e9], duration: [1e9], value: [1e9] },
    trial: { at: [21.03e9], duration: [5e7], value: [5e7] },
  });
  expect(left).toEqual([{ lane: "flow 5", at: 20.03e9, length: 1e9, state: "silent" }]);
});

test("changes that change nothing, or at one time, or out of order, make no state of no length", () => {
  const base = recvRun(1, { seconds: 30 });
  base.parameters = {};
  base.series.flow_changes = series(
    ["sender", "flow", "at_ns", "state"],
    [
      [0, 3, 9e9, "used"],
      [0, 3, 5e9, "losing"],
      [0, 3, 5e9, "silent"],
      [0, 3, 7e9, "silent"],
      [0, 3, 0, "used"],
    ],
  );
  const { lanes, left } = flowStates(context(base));
  expect(lanes.map((lane) => lane.name)).toEqual(["flow 3"]);
  expect(lanes[0]!.states.losing?.at).toEqual([]);
  expect(lanes[0]!.states.silent).toEqual({ at: [5e9], duration: [4e9], value: [4e9] });
  expect(left).toHaveLength(1);
});

test("the lanes say which flow was left longest, and that none was", () => {
  const title = (one: Run) => {
    const spec = flowLanesOfSender(context(one));
    return spec && "title" in spec ? spec.title : null;
  };
  expect(title(mergedRun(1))).toMatch(
    /^6 flows were dropped 7 times; the longest: studio-b:5004, flow 0 was unused for 25 s at \S+, because it was silent$/,
  );
  const calm = recvRun(1);
  delete calm.series.flow_changes;
  expect(title(calm)).toBe("All 16 flows were used throughout");
  calm.parameters = {};
  expect(title(calm)).toBe("Events over time");
  delete calm.series.media_events;
  expect(title(calm)).toBeNull();
});

test("an alarm is marked where it begins and where it ends, each with its sentence", () => {
  const spec = flowLanesOfSender(context(mergedRun(1)));
  if (!spec || !("moments" in spec)) throw new Error("no lanes");
  const alarms = spec.moments.filter((one) => one.kind.startsWith("residual_loss"));
  expect(alarms.map((one) => [one.at, one.name])).toEqual([
    [31e9, "residual loss"],
    [37e9, "residual loss, cleared"],
  ]);
  expect(alarms[0]!.text).toContain("12 packets were not repaired");
  const [raised, cleared] = alarms.map((one) => spec.momentLooks[one.kind]);
  expect(raised?.shape).not.toBe(cleared?.shape);
  expect(raised?.colour).not.toBe(cleared?.colour);
});

test("however many flows the parameters claim, there are not more lanes than can be drawn", () => {
  const base = recvRun(1);
  base.parameters = { flows: 1e9 };
  expect(flowStates(context(base)).lanes.length).toBeLessThanOrEqual(1024);
});

test("what came late or again is expected once", () => {
  // 100 packets: 90 came at first, 4 late, 3 again, 2 were recovered, 1 never came.
  const base = run(1, "recv", {
    series: {
      recv_seconds: series(
        ["sender", "at_ns", "received", "lost", "recovered", "retransmitted", "overtaken", "elsewhere", "unrepaired"],
        [[0, 0, 97, 10, 2, 3, 4, 0, 1]],
      ),
    },
  });
  const table = Table.of(base, "recv_seconds");
  expect(expected(accountOf(table))).toBe(100);
  expect(repairSentence(accountOf(table))).toBe(
    "6 packets of 100 were lost (6 %): repaired 2 by FEC, 3 by ARQ; residual loss 1 (1 %); 4 were only reordered",
  );
});

test("frames are told apart, and one of a million is not all of them", () => {
  const of = (rows: number[]) =>
    framesOf(
      run(1, "recv", {
        series: {
          frame_seconds: series(
            ["at_ns", "frames", "damaged", "lost", "dropped", "verified", "unequal"],
            [[0, ...rows]],
          ),
        },
      }),
    );
  expect(framesSentence(of([60, 0, 0, 0, 0, 0]))).toBe("All 60 frames were complete");
  expect(framesSentence(of([60, 0, 0, 0, 60, 0]))).toBe("All 60 frames were complete; all match the sender's hashes");
  expect(framesSentence(of([60, 0, 0, 0, 58, 2]))).toBe("All 60 frames were complete; 2 differ from the sender's hash");
  expect(framesSentence(of([57, 1, 2, 0, 0, 0]))).toBe("57 of 60 frames were complete (95 %): 1 damaged, 2 lost");
  expect(framesSentence(of([0, 0, 0, 0, 0, 0]))).toBe("No frames were output");
  expect(wholeShare(of([999_999, 1, 0, 0, 0, 0]))).toBe("99.9999 %");
  expect(wholeShare(of([1e6, 0, 0, 0, 0, 0]))).toBe("100 %");
});

test("parts of a stack stand on each other, and a column with something bad outweighs any without", () => {
  const base = run(1, "recv", {
    series: {
      s: series(
        ["at_ns", "duration_ns", "bad", "worse", "none", "fine"],
        [
          [0, 1e9, 0, 0, 0, 60],
          [1e9, 1e9, 1, 2, 0, 40],
          [2e9, 1e9, 0, 0, 0, 10],
        ],
      ),
    },
  });
  const layers: Layer[] = stackOf(Table.of(base, "s"), [
    { column: "bad", name: "bad", colour: "" },
    { column: "none", name: "none", colour: "" },
    { column: "worse", name: "worse", colour: "" },
    { column: "fine", name: "fine", colour: "", good: true },
  ]);
  expect(layers.map((layer) => layer.name)).toEqual(["bad", "worse", "fine"]);
  expect(layers.map((layer) => [layer.lo?.[1], layer.hi?.[1]])).toEqual([
    [0, 1],
    [1, 3],
    [3, 43],
  ]);
  const weight = layers[0]!.weight!;
  expect(weight[1]!).toBeGreaterThan(weight[2]!);
  expect(weight[2]!).toBeGreaterThan(weight[0]!);
});

test("senders have the names that the receiver was given", () => {
  const base = mergedRun(1);
  expect(senders(base).map((one) => one.name)).toEqual(["studio-b:5004", "studio-c:5004"]);
  expect(senderName(base, 2)).toBe("sender 2");
  expect(senderName(nothing("recv"), 0)).toBe("sender 0");
  base.summary = { senders: [{ from: "a", flows: 9 }] };
  expect([senderName(base, 0), senderName(base, 1)]).toEqual(["a", "studio-c:5004"]);
  expect([flowsOf(base, 0), flowsOf(base, 1)]).toEqual([9, null]);
});

test("the summary's frames go before those of the seconds, where it has them", () => {
  const base = recvRun(1, { seconds: 5 });
  base.summary = { frames: 7, frames_lost: 3 };
  expect(framesOf(base)).toMatchObject({ whole: 7, lost: 3, damaged: 0, all: 10 });
});

test("the CPU of one thread that serves two senders is not counted for either alone", () => {
  const base = mergedRun(1);
  const spec = recvCpu(context(base));
  const [layer] = spec && "layers" in spec ? spec.layers : [];
  expect(layer?.x).toHaveLength(40);
  for (const value of layer!.y) expect(value).toBeGreaterThan(0.5);
});

test("a run without rows has no charts, and one to which nothing came says so", () => {
  for (const kind of ["send", "recv"]) {
    const all = context(nothing(kind));
    const { sections, figures } = descriptionOf(all);
    expect(sections.flatMap((section) => section.drawings.flatMap((drawing) => drawing(all))).filter(Boolean)).toEqual(
      [],
    );
    expect(figures(all)).toEqual([]);
  }
  const silent = context(silentRun());
  const loss = recvLoss(silent) as { empty: string | null }[];
  expect(loss.map((spec) => spec.empty)).toEqual(["No packet was missed; nothing to repair."]);
  expect(descriptionOf(silent).headlines?.(silent)).toEqual([
    { severity: "fault", sentence: "no media was received." },
  ]);
});

test("what did not happen has no chart", () => {
  expect(recvLate(context(recvRun(1)))).toBeNull();
  const calm = sendRun(1);
  for (const column of ["unsent", "refused", "rejected", "frames_skipped"])
    calm.series.send_seconds.columns[column].values.fill(0);
  expect(sendTrouble(context(calm))).toBeNull();
  calm.series.send_seconds.columns.fec_sources.values.fill(null);
  expect(sendCode(context(calm))).toBeNull();
});

test("a rest of a second at the end says nothing of the rate, an outage up to the end does", () => {
  expect(perNs([8, 8, 0], [1, 1, 0.01])).toEqual([8, 8, null]);
  expect(perNs([8, 8, 0], [1, 1, 1])).toEqual([8, 8, 0]);
  expect(perNs([8, null, 4], [1, 1, 0])).toEqual([8, null, null]);
});

test("quantiles of the whole run go before those of its seconds", () => {
  const base = recvRun(1);
  expect(overall(base, "delay", "p999")).toBeCloseTo(20.7e6, -5);
  base.summary.delay = { count: 60, p50: 1, p999: 27.6e6 };
  expect(overall(base, "delay", "p999")).toBe(27.6e6);
  base.summary.delay.count = 0;
  expect(overall(base, "delay", "p999")).toBeCloseTo(20.7e6, -5);
});

test("a code rate that changes is given by its bounds", () => {
  const base = sendRun(1);
  base.series.send_seconds.columns.fec_sources.values.fill(10, 30);
  const spec = sendCode(context(base));
  expect(spec && "title" in spec ? spec.title : null).toBe("FEC overhead was 8.33 % to 10 %");
});
