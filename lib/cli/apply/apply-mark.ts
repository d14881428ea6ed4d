import { scheduleShape } from "../../schedule/shape/schedule-shape.ts";

/** Why a text cannot be a tag; null if it can. */
export function tagFault(tag: string): string | null {
  const read = scheduleShape.shape.tags.safeParse([tag]);
  return read.success ? null : (read.error.issues[0]?.message ?? "is not valid");
}
