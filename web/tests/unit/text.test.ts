import { expect, test } from "vitest";
import { parseEvents } from "../../src/api";
import { csvCell, csvText } from "../../src/charts/export";
import { command, rateArgument, shellWord, worst } from "../../src/pages/verdict";
// @ts-expect-error: a script of its own, without types
import { outageRun } from "../fixtures.mjs";

test("CSV quotes, and keeps a spreadsheet from taking text for a formula", () => {
  expect(csvCell('a"b,c')).toBe('"a""b,c"');
  expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
  expect(csvCell(-5)).toBe("-5");
  expect(csvCell(null)).toBe("");
  expect(csvText({ columns: ["a", "b"], rows: [[1, "x\ny"]] })).toBe('a,b\r\n1,"x\ny"\r\n');
});

test("commands carry a target as one word of the shell", () => {
  expect(shellWord("far.example.net")).toBe("far.example.net");
  expect(shellWord("$(reboot); 'x'")).toBe("'$(reboot); '\\''x'\\'''");
  expect(shellWord("[fd00::2]:4747")).toBe("'[fd00::2]:4747'");
  expect(shellWord("")).toBe("''");
  const run = outageRun(1);
  expect(command(run, run.diagnosis.recommendation)).toBe(
    "weir flows far.example.net --flows 8 --length 8100 --rate 2.5Gbit/s",
  );
});

test("rates as the command line reads them", () => {
  expect(rateArgument(2.5e9)).toBe("2.5Gbit/s");
  expect(rateArgument(750e6)).toBe("750Mbit/s");
  expect(rateArgument(2_485_704_295.7)).toBe("2.485704Gbit/s");
});

test("the worst severity", () => {
  expect(worst(outageRun(1).diagnosis.findings)).toBe("fault");
  expect(worst([])).toBe(null);
});

test("server-sent events in pieces", () => {
  const first = parseEvents('event: progress\ndata: {"a":1}\n\n: still here\n\nevent: en');
  expect(first.events).toEqual([{ event: "progress", data: '{"a":1}' }]);
  expect(parseEvents(first.rest + "ded\ndata:\n\n").events).toEqual([{ event: "ended", data: "" }]);
  expect(parseEvents("data: a\r\ndata: b\r\n\r\n").events).toEqual([{ event: "message", data: "a\nb" }]);
});
