import * as z from "zod";
import type { Json } from "../../../client/main.ts";
import { isJson } from "../../../schedule/shape/json.ts";
import { joined, type Parts } from "../parts.ts";
import { clockPart, zonePart } from "./common-parts.ts";
import { fugitWhen } from "./fugit-when.ts";

export const jsonValue = z.custom<Json>(isJson, "takes JSON");

/** The time, the zone and the rule for clock changes of a text that fugit reads. */
export function fugitPart(text: string, timezone: string | undefined, whoseZone: string): Parts {
  const { when, zone, differences, faults } = fugitWhen(text);
  const zoned = zonePart(zone, timezone, `no zone is behind its time: ${whoseZone}, and it is read as UTC`);
  const clock = clockPart([when], zoned.body, { of: "fugit", gap: "skip", overlap: "first" });
  return joined({ body: { when }, differences, faults }, zoned, clock);
}

/** The arguments of a job as a list; a single one may be written without it. */
export function argumentsOf(args: Json | undefined): Json[] {
  if (args === undefined || args === null) return [];
  return Array.isArray(args) ? args : [args];
}
