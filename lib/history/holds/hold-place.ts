import * as z from "zod";
import type { Tx } from "../../db/connect.ts";
import type { HoldScope } from "../../schedule/holds.ts";

/**
 * The position at which a page of the board ended: the hold's end in milliseconds (null for none),
 * its scope, and what else orders holds of that scope.
 */
export interface BoardPlace {
  end: number | null;
  scope: HoldScope | "";
  /** The id of the schedule, or the name of the label. */
  of: string;
  prefix: string;
  owner: string;
}

/** Before every hold. */
export const firstPlace: BoardPlace = { end: 0, scope: "", of: "0", prefix: "", owner: "" };

const shape = z.tuple([
  z.int().min(0).max(8_640_000_000_000_000).nullable(),
  z.enum(["group", "schedule", "tag"]),
  z.string(),
  z.string(),
  z.string(),
]);

export function placeOf({
  until,
  scope,
  name,
  scheduleId,
  prefix,
  owner,
}: {
  until: Date | null;
  scope: HoldScope;
  name: string;
  scheduleId: string | null;
  prefix: string | null;
  owner: string;
}): BoardPlace {
  return { end: until?.getTime() ?? null, scope, of: scheduleId ?? name, prefix: prefix ?? "", owner };
}

export function boardPlaceText({ end, scope, of, prefix, owner }: BoardPlace): string {
  return JSON.stringify([end, scope, of, prefix, owner]);
}

/** Null if the text is not a position. */
export function readBoardPlace(text: string): BoardPlace | null {
  const read = shape.safeParse(orNull(text));
  if (!read.success) return null;
  const [end, scope, of, prefix, owner] = read.data;
  if (scope === "schedule" && !/^[1-9]\d{0,17}$/.test(of)) return null;
  return { end, scope, of, prefix, owner };
}

function orNull(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Sorts after every id. */
const noId = "9223372036854775807";

const endOf = (tx: Tx, { end }: BoardPlace) =>
  tx`coalesce(${end === null ? null : new Date(end)}::timestamptz, 'infinity')`;

/** SQL: a hold `h` of a label comes after the position. */
export function sharedFrom(tx: Tx, place: BoardPlace) {
  const { scope, of, prefix, owner } = place;
  const isOwn = scope === "schedule";
  return tx`(coalesce(h.until, 'infinity'), h.scope, h.name, h.prefix, h.owner)
    > (${endOf(tx, place)}, ${scope}, ${isOwn ? "" : of}, ${prefix}, ${owner})`;
}

/** SQL: a hold `h` of a single schedule comes after the position. */
export function ownFrom(tx: Tx, place: BoardPlace) {
  const { scope, of, owner } = place;
  const id = scope === "schedule" ? of : scope === "tag" ? noId : "0";
  return tx`(coalesce(h.until, 'infinity'), h.schedule_id, h.owner)
    > (${endOf(tx, place)}, ${id}::bigint, ${scope === "schedule" ? owner : ""})`;
}
