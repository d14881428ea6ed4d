import type { Mutant } from "./mutant.ts";
import { parcel } from "./rows/parcel.ts";
import { ticks } from "./rows/tick.ts";
import { tokens } from "./rows/token.ts";
import { webhooks } from "./rows/webhook.ts";
import { worker } from "./rows/worker.ts";

/** The safeguards by area, as `npm run mutants -- AREA` takes them. */
export const areas: Readonly<Record<string, readonly Mutant[]>> = {
  parcel,
  worker,
  tick: ticks,
  token: tokens,
  webhook: webhooks,
};
