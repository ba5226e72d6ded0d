// The verdict: the answer, findings with their evidence, and the settings that are recommended, as commands to copy.

import type { Answer, Evidence, Finding, Recommendation, Run } from "../data/document";
import { askedRate } from "../data/facts";
import { copyButton, h, s, table } from "../dom";
import { bytes, count, digits, inUnit, nanoseconds, percent, plural } from "../format";
import type { Headline } from "../kinds/describe";

type Severity = Finding["severity"];
const ORDER: Severity[] = ["fault", "notice", "information"];
const NAMES: Record<Severity, string> = { fault: "Fault", notice: "Notice", information: "Information" };

/** A shape of its own for each severity: colour alone tells nobody who cannot see it. */
export function severityIcon(severity: Severity): SVGSVGElement {
  const icon = s("svg", {
    class: `icon ${severity}`,
    viewBox: "0 0 20 20",
    width: 20,
    height: 20,
    "aria-hidden": "true",
  });
  if (severity === "fault") {
    icon.append(
      s("path", { class: "icon-body", d: "M6 1h8l5 5v8l-5 5H6l-5-5V6Z" }),
      s("path", { class: "icon-sign", d: "M6.5 6.5l7 7m0-7l-7 7" }),
    );
  } else if (severity === "notice") {
    icon.append(
      s("path", { class: "icon-body", d: "M10 1.5L19.5 18.5H.5Z" }),
      s("path", { class: "icon-sign", d: "M10 7v5.5m0 2v1" }),
    );
  } else {
    icon.append(
      s("circle", { class: "icon-body", cx: 10, cy: 10, r: 9 }),
      s("path", { class: "icon-sign", d: "M10 9v6m0-10v1" }),
    );
  }
  return icon;
}

export function severityBadge(severity: Severity): HTMLElement {
  return h("span", { class: `badge ${severity}` }, severityIcon(severity), NAMES[severity]);
}

/** What of it weighs most; null where nothing was found. */
export function worst(findings: Finding[]): Severity | null {
  return ORDER.find((severity) => findings.some((finding) => finding.severity === severity)) ?? null;
}

/** Evidence with one value for each row of the query stands side by side, the rest one below the other. */
function evidenceTables(evidence: Evidence[]): HTMLElement[] {
  const lists = evidence.filter(
    (one) => Array.isArray(one.value) && one.value.length > 1 && !one.what.includes("bounds"),
  );
  const length = Math.max(0, ...lists.map((one) => (one.value as unknown[]).length));
  const columns = lists.filter((one) => (one.value as unknown[]).length === length);
  const wide = columns.length > 1 ? columns : [];
  const rest = evidence.filter((one) => !wide.includes(one));
  const text = (one: Evidence) => {
    const loss = one.unit === null && /loss|share|bounds|from (good|bad)/i.test(one.what);
    const write = (value: unknown) =>
      loss && typeof value === "number" && value <= 1 ? percent(value) : inUnit(value, one.unit);
    return Array.isArray(one.value)
      ? one.value.map(write).join(/bounds/.test(one.what) ? " to " : ", ")
      : write(one.value);
  };
  const out: HTMLElement[] = [];
  if (rest.length > 0)
    out.push(
      table(
        "Evidence",
        ["what", "value"],
        rest.map((one) => [one.what, text(one)]),
        { numeric: [1], hideCaption: true },
      ),
    );
  if (wide.length > 0) {
    const rows = Array.from({ length }, (_, i) => wide.map((one) => inUnit((one.value as unknown[])[i], one.unit)));
    out.push(
      table(
        "Evidence, row by row",
        wide.map((one) => one.what),
        rows,
        { numeric: wide.map((_, i) => i), hideCaption: true },
      ),
    );
  }
  return out;
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

function findingElement(finding: Finding): HTMLElement {
  const { confidence } = finding;
  const { cause, p_value: p } = confidence;
  return h(
    "li",
    { class: `finding ${finding.severity}`, "data-finding": finding.name },
    severityIcon(finding.severity),
    h(
      "div",
      { class: "finding-body" },
      h(
        "p",
        { class: "finding-sentence" },
        h("span", { class: `severity ${finding.severity}` }, NAMES[finding.severity]),
        finding.direction === "reverse" ? h("span", { class: "way" }, "reverse direction") : null,
        " ",
        capital(finding.sentence),
      ),
      h("p", { class: "finding-action" }, h("b", null, "Action: "), finding.action),
      h(
        "details",
        { class: "evidence" },
        h("summary", null, `Evidence for “${finding.name}”`),
        h(
          "p",
          null,
          h("b", null, "Confidence: "),
          // 99.99999 % is as sure as a test can say; more digits are no knowledge.
          confidence.level >= 0.99999 ? "above 99.999 %" : percent(confidence.level, 5),
          p === null ? "" : p < 1e-6 ? ", p below 0.000001" : `, p = ${digits(p, 3)}`,
        ),
        h("p", null, h("b", null, "Test: "), confidence.test),
        cause
          ? h(
              "p",
              null,
              h("b", null, "Its cause: "),
              cause.level === null ? "" : `${percent(cause.level, 3)}, `,
              cause.because,
            )
          : null,
        ...evidenceTables(finding.evidence),
        finding.query
          ? h(
              "div",
              { class: "code" },
              h(
                "div",
                { class: "code-head" },
                "SQL on the results store",
                copyButton(finding.query, `the query of ${finding.name}`),
              ),
              h(
                "pre",
                { tabindex: 0, role: "region", "aria-label": `Query of ${finding.name}` },
                h("code", null, finding.query),
              ),
            )
          : null,
      ),
    ),
  );
}

/** A word of a shell command. */
export function shellWord(text: string): string {
  return /^[A-Za-z0-9._:@%/[\]-]+$/.test(text) && !/[[\]]/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** A rate as the command line reads it. */
export function rateArgument(rate: number): string {
  const round = Math.round(rate);
  for (const [size, unit] of [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
  ] as const) {
    const value = round / size;
    if (value >= 1 && Math.abs(value * 1000 - Math.round(value * 1000)) < 1e-6)
      return `${Math.round(value * 1000) / 1000}${unit}`;
  }
  return `${(round / 1e9).toFixed(6).replace(/\.?0+$/, "")}Gbit/s`;
}

export function command(run: Run, recommendation: Recommendation): string {
  const rate = askedRate(run);
  return [
    "weir flows",
    shellWord(run.target),
    `--flows ${recommendation.flows}`,
    `--length ${recommendation.payload}`,
    rate ? `--rate ${rateArgument(rate)}` : null,
  ]
    .filter(Boolean)
    .join(" ");
}

function recoveryText({ recovery, expected_residual_loss, target_loss }: Recommendation): string {
  switch (recovery.by) {
    case "none":
      return expected_residual_loss > target_loss
        ? "FEC and ARQ cannot repair this loss rate"
        : "none needed at this loss rate";
    case "fec":
      return `FEC: ${plural(recovery.repair_packets, "repair packet")} per span of ${count(recovery.span_packets)} (${percent(recovery.overhead)} overhead), ${nanoseconds(recovery.latency_ns)} of latency`;
    case "arq":
      return `ARQ: up to ${plural(recovery.rounds, "round")} of retransmission${recovery.latency_ns === null ? "" : `, ${nanoseconds(recovery.latency_ns)} of latency`}`;
    default:
      return "unknown to this page";
  }
}

function recommendationElement(run: Run, recommendation: Recommendation): HTMLElement {
  const text = command(run, recommendation);
  const interval = recommendation.expected_residual_interval;
  return h(
    "section",
    { class: "recommendation", "aria-label": "Recommendation" },
    h("h3", null, "Recommended settings"),
    h("p", null, capital(recommendation.sentence)),
    h(
      "dl",
      { class: "settings" },
      ...(
        [
          ["flows", count(recommendation.flows)],
          ["payload", bytes(recommendation.payload)],
          ["recovery", recoveryText(recommendation)],
          [
            "residual loss",
            `${percent(recommendation.expected_residual_loss)}${interval?.length === 2 ? ` (${percent(interval[0])} to ${percent(interval[1])})` : ""}, target ${percent(recommendation.target_loss)}`,
          ],
        ] as const
      ).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))),
    ),
    recommendation.measured_together
      ? null
      : h("p", { class: "note" }, "These flows and this payload were not tested together: the command tests them."),
    h(
      "div",
      { class: "code" },
      h("div", { class: "code-head" }, "Measure with these settings", copyButton(text, "the command")),
      h("pre", { tabindex: 0, role: "region", "aria-label": "Command" }, h("code", { "data-command": "" }, text)),
    ),
  );
}

/** The answer in two to four lines, above everything else. */
function answerElement(answer: Answer): HTMLElement {
  const line = (name: string, text: string) => h("p", { [`data-${name}`]: "" }, text);
  const { worst, basis, next } = answer;
  return h(
    "section",
    { class: `answer ${answer.verdict}`, "data-answer": answer.verdict, "aria-label": "Answer" },
    h("h2", { "data-sentence": "" }, answer.sentence),
    line("worst", worst ? `Worst: ${worst.brief}.` : "Worst: no fault and no notice."),
    basis ? line("basis", `Rests on: ${basis.sentence}`) : null,
    next ? line("next", `Next: ${next}`) : null,
  );
}

/** How a run went that is not diagnosed: each sentence with its severity. */
export function headlines(all: Headline[]): HTMLElement | null {
  if (all.length === 0) return null;
  const severity = ORDER.find((one) => all.some((headline) => headline.severity === one)) ?? "none";
  return h(
    "section",
    { class: "verdict", "data-verdict": severity },
    h("h2", null, "Result"),
    h(
      "ul",
      { class: "findings" },
      ...all.map((one) =>
        h(
          "li",
          { class: `finding ${one.severity}`, "data-headline": "" },
          severityIcon(one.severity),
          h(
            "div",
            { class: "finding-body" },
            h(
              "p",
              { class: "finding-sentence" },
              h("span", { class: `severity ${one.severity}` }, NAMES[one.severity]),
              " ",
              capital(one.sentence),
            ),
          ),
        ),
      ),
    ),
  );
}

/** The verdict on a run, the answer first; nothing for parts of a survey, which have none of their own. */
export function verdict(run: Run): HTMLElement[] {
  const { diagnosis } = run;
  if (!diagnosis) {
    if (run.parent_run_id !== null && !run.no_diagnosis) return [];
    const none = h(
      "section",
      { class: "verdict", "data-verdict": "none" },
      h("h2", null, "Verdict"),
      h("p", { class: "empty" }, run.no_diagnosis ? `No verdict: ${run.no_diagnosis}` : "This run has no verdict."),
    );
    return [none];
  }
  const findings = [...diagnosis.findings].sort((a, b) => ORDER.indexOf(a.severity) - ORDER.indexOf(b.severity));
  const of = (severity: Severity) => findings.filter((finding) => finding.severity === severity).length;
  const faults = of("fault");
  const notices = of("notice");
  const heading =
    faults > 0
      ? `${plural(faults, "fault")}${notices > 0 ? `, ${plural(notices, "notice")}` : ""}`
      : notices > 0
        ? `no fault, ${plural(notices, "notice")}`
        : "no fault, no notice";
  const information = findings.filter((finding) => finding.severity === "information");
  const weighty = findings.filter((finding) => finding.severity !== "information");
  const list = (all: Finding[]) => h("ul", { class: "findings" }, ...all.map(findingElement));
  const found = h(
    "section",
    { class: "verdict", "data-verdict": worst(findings) ?? "none" },
    h("h2", null, `Findings: ${heading}`),
    findings.length === 0 ? h("p", { class: "empty" }, "No findings.") : null,
    weighty.length > 0 ? list(weighty) : null,
    diagnosis.recommendation ? recommendationElement(run, diagnosis.recommendation) : null,
    information.length > 0 ? h("div", { class: "quiet" }, h("h3", null, "Also found"), list(information)) : null,
  );
  return diagnosis.answer ? [answerElement(diagnosis.answer), found] : [found];
}
