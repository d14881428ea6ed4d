import { createHash } from "node:crypto";
import { type ListName, readCursor, writeCursor } from "./cursor.ts";

type SearchName = Extract<
  ListName,
  | "schedule-search"
  | "job-search"
  | "job-groups"
  | "retries"
  | "cancels"
  | "groups"
  | "group-cancels"
  | "schedule-bulk"
  | "quarantine"
  | "quarantine-retries"
  | "hold-board"
  | "ended-holds"
  | "series"
  | "agenda"
  | "strip"
>;

/**
 * The cursor of a search, or of a bulk operation on its results. It contains a digest of the
 * filter: with another filter or order, a position would silently skip results.
 */
export function writeSearchCursor(list: SearchName, filter: object, place: string): string {
  return writeCursor(list, `${markOf(filter)}/${place}`);
}

export function readSearchCursor(
  cursor: string | undefined,
  list: SearchName,
  filter: object,
  isPlace: (place: string) => boolean,
): string | undefined {
  if (cursor === undefined) return undefined;
  const mark = `${markOf(filter)}/`;
  const read = readCursor(cursor, list, (text) => text.startsWith(mark) && isPlace(text.slice(mark.length)));
  return read.slice(mark.length);
}

function markOf(filter: object): string {
  const named = Object.entries(filter).filter(([, value]) => value !== undefined);
  const text = JSON.stringify(named.sort(([a], [b]) => (a < b ? -1 : 1)));
  return createHash("sha256").update(text).digest("base64url").slice(0, 8);
}
