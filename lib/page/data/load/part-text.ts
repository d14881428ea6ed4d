import type { Forecast } from "../../../client/forecast.ts";
import { numberText } from "../amounts.ts";

type Part = Forecast["heaviest"][number]["most"][number];

/** `285 of every 5m`. The jobs of a minute that comes soon are made already, whatever their expressions. */
export function partText({ kind, when, owner, fires }: Part): string {
  const number = numberText(fires);
  if (when !== null) return `${number} of ${when}`;
  if (kind === "made") return `${number} that are made already`;
  return `${number} of ${kind === "release" ? `the hold of ${owner}` : "single times"}`;
}
