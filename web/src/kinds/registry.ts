// All kinds of runs that the page knows. A new one is a line here.
import type { Context, Description } from "./describe";
import { fallback } from "./fallback";
import { flows } from "./flows";
import { grid } from "./grid";
import { lab } from "./lab";
import { load } from "./load";
import { mesh } from "./mesh";
import { mtu } from "./mtu";
import { pacing } from "./pacing";
import { population } from "./population";
import { recv } from "./recv";
import { rtt } from "./rtt";
import { send } from "./send";
import { survey } from "./survey";
import { tcp } from "./tcp";
import { testbed } from "./testbed";
import { tune } from "./tune";
import { watch } from "./watch";

const KINDS: Description[] = [
  rtt,
  flows,
  survey,
  tcp,
  mtu,
  lab,
  pacing,
  send,
  recv,
  load,
  mesh,
  population,
  grid,
  tune,
  testbed,
  watch,
];

export function descriptionOf(context: Context): Description {
  return KINDS.find((one) => one.kind === context.run.kind) ?? fallback(context.run.kind, context);
}

export function kindName(kind: string): string {
  return KINDS.find((one) => one.kind === kind)?.name ?? kind;
}
