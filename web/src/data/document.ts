// The document that a page draws: its form as types, and the check that it is one this page can read.

export type Value = number | string | boolean | null;

export interface Column {
  unit: string | null;
  values: Value[];
}

export interface Series {
  rows: number;
  bin_ns: number | null;
  left_out: number;
  columns: Record<string, Column>;
}

export interface Evidence {
  what: string;
  value: Value | Value[];
  unit: string | null;
}

export interface Finding {
  name: string;
  severity: "information" | "notice" | "fault";
  direction: string | null;
  /** In one line; documents of older versions have none. */
  brief?: string;
  sentence: string;
  evidence: Evidence[];
  query: string;
  confidence: {
    test: string;
    p_value: number | null;
    level: number;
    /** Documents of older versions have none. */
    cause?: { level: number | null; because: string } | null;
  };
  action: string;
}

export type Recovery =
  | { by: "none" }
  | { by: "fec"; overhead: number; repair_packets: number; span_packets: number; latency_ns: number }
  | { by: "arq"; latency_ns: number | null; rounds: number };

export interface Recommendation {
  flows: number;
  payload: number;
  measured_together: boolean;
  recovery: Recovery;
  target_loss: number;
  expected_loss: number;
  expected_residual_loss: number;
  expected_residual_interval: number[];
  sentence: string;
}

/** Whether the path carries the media, with which settings, and what is the worst about it. */
export interface Answer {
  verdict: "carries" | "carries_with_repair" | "does_not_carry" | "cannot_say";
  worst: { name: string; severity: Finding["severity"]; brief: string } | null;
  basis: { sentence: string } | null;
  sentence: string;
  next: string | null;
}

export interface Diagnosis {
  /** Documents of older versions have none. */
  answer?: Answer;
  findings: Finding[];
  recommendation: Recommendation | null;
}

export type Json = { [key: string]: unknown };

export interface Run {
  run_id: number;
  parent_run_id: number | null;
  kind: string;
  target: string;
  started_unix_ns: number;
  ended_unix_ns: number | null;
  last_unix_ns: number;
  outcome: string;
  reason: string | null;
  local_host: Json | null;
  remote_host: Json | null;
  parameters: unknown;
  summary: Json | null;
  weir_version: string;
  merged_records: number;
  lost_records: number;
  note: string;
  tags: string[];
  diagnosis: Diagnosis | null;
  no_diagnosis: string | null;
  clock_steps: { unix_ns: number; back_ns: number }[];
  series: Record<string, Series>;
}

export interface ReportDocument {
  format: string;
  version: number;
  weir_version: string;
  made_unix_ns: number;
  runs: Run[];
  /** Tests between places of several of the runs together. */
  mesh?: { runs: number[]; started_unix_ns: number; series: Record<string, Series> };
}

export const VERSION = 1;

/** A document that cannot be drawn; the message is for people. */
export class BadDocument extends Error {}

/** Checks a value as a document. Throws an error for people; the returned document can be drawn. */
export function check(value: unknown): ReportDocument {
  if (typeof value !== "object" || value === null || (value as Json).format !== "weir-report-data") {
    throw new BadDocument("This is not the data of a Weir report.");
  }
  const document = value as ReportDocument;
  if (document.version > VERSION) {
    throw new BadDocument(
      `These data have version ${document.version} (written by Weir ${document.weir_version}); ` +
        `this page reads versions up to ${VERSION}. Open them with the Weir that wrote them, or a newer one.`,
    );
  }
  if (!Array.isArray(document.runs)) throw new BadDocument("The data name no runs.");
  for (const run of document.runs) {
    run.series ??= {};
    run.tags ??= [];
    run.note ??= "";
    for (const [name, series] of Object.entries(run.series)) {
      const lengths = new Set(Object.values(series.columns).map((column) => column.values.length));
      if (lengths.size > 1) {
        throw new BadDocument(`The columns of series ${name} of run ${run.run_id} have different lengths.`);
      }
    }
  }
  return document;
}
