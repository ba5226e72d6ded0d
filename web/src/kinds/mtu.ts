// The search for the path MTU, a step of a survey.
import { dig, num } from "../data/facts";
import { mtuProbes } from "../drawings/mtu";
import { bytes, count } from "../format";
import type { Description } from "./describe";

export const mtu: Description = {
  kind: "mtu",
  name: "Path MTU",
  figures: ({ run }) =>
    (["forward", "reverse"] as const).map((name) => ({
      name: name === "forward" ? "path MTU forward" : "path MTU reverse",
      value: bytes(num(dig(run.summary, name, "path_mtu"))),
      detail: `interface ${bytes(num(dig(run.summary, name, "interface_mtu")))}, ${count(num(dig(run.summary, name, "probes")))} probes`,
    })),
  sections: [{ title: "Probes", overTime: true, drawings: [mtuProbes] }],
};
