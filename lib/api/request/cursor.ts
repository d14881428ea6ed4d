import { Refusal } from "../../refusal.ts";

/** The list that a cursor belongs to. A cursor names its list, so that another list refuses it. */
export type ListName =
  | "schedules"
  | "schedule-search"
  | "job-search"
  | "job-groups"
  | "jobs"
  | "versions"
  | "calendars"
  | "groups"
  | "holds"
  | "limits"
  | "quotas"
  | "zone-moves"
  | "retries"
  | "cancels"
  | "group-cancels"
  | "schedule-bulk"
  | "tokens"
  | "credentials"
  | "audit"
  | "outages"
  | "inbox-errors"
  | "quarantine"
  | "quarantine-retries"
  | "dead-commands"
  | "hold-board"
  | "ended-holds"
  | "series"
  | "agenda"
  | "strip";

export function writeCursor(list: ListName, after: string): string {
  return Buffer.from(JSON.stringify([list, after])).toString("base64url");
}

/** The position that a cursor holds. Refuses it unless `isPlace` accepts it as one of the list. */
export function readCursor(cursor: string, list: ListName, isPlace: (after: string) => boolean): string {
  const after = placeIn(cursor, list);
  if (after !== null && isPlace(after) && writeCursor(list, after) === cursor) return after;
  throw new Refusal("invalid", "The query is not understood.", [
    { path: "cursor", message: "is not a cursor that this list gave out" },
  ]);
}

function placeIn(cursor: string, list: ListName): string | null {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    if (!Array.isArray(parsed) || parsed.length !== 2 || parsed[0] !== list) return null;
    return typeof parsed[1] === "string" ? parsed[1] : null;
  } catch {
    return null;
  }
}
