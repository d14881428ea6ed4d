import type { Mutant } from "./mutant.ts";
import { parcel } from "./rows/parcel.ts";
import { worker } from "./rows/worker.ts";

/** The safeguards by area, as `npm run mutants -- AREA` takes them. */
export const areas: Readonly<Record<string, readonly Mutant[]>> = { parcel, worker };
