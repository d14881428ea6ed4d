import type { Attack } from "./attack.ts";
import { abandoned } from "./attacks/abandoned.ts";
import { fuzz } from "./attacks/fuzz.ts";
import { guessTokens } from "./attacks/guess-tokens.ts";
import { holdBombs } from "./attacks/hold-bombs.ts";
import { largeBodies } from "./attacks/large-bodies.ts";
import { oddJson } from "./attacks/odd-json.ts";
import { overRate } from "./attacks/over-rate.ts";
import { scheduleBombs } from "./attacks/schedule-bombs.ts";
import { slowLoris } from "./attacks/slow-loris.ts";

/** In this order; the last one leaves the most jobs behind. */
export const attacks: readonly Attack[] = [
  overRate,
  slowLoris,
  largeBodies,
  oddJson,
  guessTokens,
  fuzz,
  abandoned,
  holdBombs,
  scheduleBombs,
];
