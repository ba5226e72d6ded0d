// Numbers with units as people read them: three digits that count, SI prefixes, a thin thousand separator.

const MINUS = "−";

/** A number with so many significant digits, without an exponent, thousands set apart. */
export function digits(value: number, significant = 3): string {
  if (!Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value)));
  const decimals = Math.max(0, Math.min(20, significant - 1 - size));
  let text = Math.abs(value).toFixed(decimals);
  if (decimals > 0) text = text.replace(/\.?0+$/, "");
  const [whole = "", rest] = text.split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return (value < 0 ? MINUS : "") + grouped + (rest ? "." + rest : "");
}

export function count(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  return Number.isInteger(value) ? digits(value, 21) : digits(value, 4);
}

function scaled(value: number, steps: [number, string][], significant: number): string {
  const size = Math.abs(value);
  // 0.9995 of a step still rounds to the step: 999.6 us is 1 ms.
  const step = steps.find(([at]) => size >= at * 0.9995) ?? steps[steps.length - 1]!;
  return `${digits(value / step[0], significant)} ${step[1]}`;
}

const TIMES: [number, string][] = [
  [86_400e9, "d"],
  [3600e9, "h"],
  [60e9, "min"],
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "µs"],
  [1, "ns"],
];

/** A time that was measured: 133 us, 1.04 ms, 2.5 s. */
export function nanoseconds(value: number | null | undefined, significant = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0 s";
  return scaled(value, TIMES.slice(3), significant);
}

/** How long a run took: 24 h, 1 min 30 s, 12.5 s. */
export function duration(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 60e9) return nanoseconds(value);
  const all = Math.round(Math.abs(value) / 1e9);
  const parts: string[] = [];
  for (const [size, unit] of [
    [86_400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ] as const) {
    const n =
      size === 1 ? all % 60 : Math.floor((all % (size === 60 ? 3600 : size === 3600 ? 86_400 : Infinity)) / size);
    if (n > 0) parts.push(`${n} ${unit}`);
  }
  return (value < 0 ? MINUS : "") + parts.slice(0, 2).join(" ");
}

export function rate(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0 bit/s";
  return scaled(
    value,
    [
      [1e12, "Tbit/s"],
      [1e9, "Gbit/s"],
      [1e6, "Mbit/s"],
      [1e3, "kbit/s"],
      [1, "bit/s"],
    ],
    4,
  );
}

export function bytes(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Math.abs(value) < 10_000) return `${count(value)} B`;
  return scaled(
    value,
    [
      [1e12, "TB"],
      [1e9, "GB"],
      [1e6, "MB"],
      [1e3, "kB"],
    ],
    3,
  );
}

/** A window or buffer, which hosts set in powers of two: 64 KiB, 2.63 MiB. */
export function binary(value: number): string {
  return value >= 2 ** 20 ? `${digits(value / 2 ** 20)} MiB` : `${digits(value / 1024)} KiB`;
}

/** A ratio from 0 to 1 as a percentage, however small. */
export function percent(value: number | null | undefined, significant = 3): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const share = value * 100;
  if (share !== 0 && Math.abs(share) < 1e-6)
    return `${Number(share.toPrecision(significant)).toExponential().replace("e-", "e−").replace(/^-/, MINUS)} %`;
  return `${digits(share, significant)} %`;
}

/** A value in the unit that the data names. */
export function inUnit(value: unknown, unit: string | null): string {
  if (value === null || value === undefined) return "–";
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return value.map((one) => inUnit(one, unit)).join(", ");
  if (typeof value === "number") {
    switch (unit) {
      case "ns":
        return nanoseconds(value);
      case "bits/s":
      case "bit/s":
        return rate(value);
      case "bytes":
      case "B":
        return bytes(value);
      default:
        return (Number.isInteger(value) ? count(value) : number(value)) + (unit ? ` ${unit}` : "");
    }
  }
  return JSON.stringify(value);
}

/** Any number, small ones with an exponent. */
export function number(value: number): string {
  const size = Math.abs(value);
  if (size !== 0 && size < 1e-4) return value.toExponential(2).replace("-", MINUS);
  return digits(value, 4);
}

/** A name from data (`cpu_busy_cores`) as words. */
export function words(name: string): string {
  const text = name.replace(/_(ns|bytes|cores|packets)$/, "").replaceAll("_", " ");
  return text
    .replace(/\bcpu\b/g, "CPU")
    .replace(/\bowd\b/g, "OWD")
    .replace(/\brtt\b/g, "RTT")
    .replace(/\budp\b/g, "UDP");
}

export function plural(n: number, one: string, many = one + "s"): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}
