import type { AuditFilter } from "../../../client/audit.ts";
import { textsIn } from "../../data/search-texts.ts";

/** The filter in the address, in the API's words. Instants are absolute, so that a link shows the same. */
export interface AuditSearch {
  subject?: string | undefined;
  prefix?: string | undefined;
  actor?: string | undefined;
  action?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
}

export const readAuditSearch = (search: Record<string, unknown>): AuditSearch =>
  textsIn(search, ["subject", "prefix", "actor", "action", "from", "to"]);

/** The search of a route also has what every view may have, which is no filter. */
export const auditFilterOf = ({ subject, prefix, actor, action, from, to }: AuditSearch): AuditFilter => ({
  subject,
  prefix,
  actor,
  action,
  from,
  to,
});

const actionWords: readonly (readonly [string, string])[] = [
  ["schedule.created", "schedule created"],
  ["schedule.replaced", "schedule replaced"],
  ["schedule.patched", "schedule changed"],
  ["schedule.paused", "schedule held"],
  ["schedule.resumed", "schedule released"],
  ["schedule.deleted", "schedule deleted"],
  ["schedule.restored", "version restored"],
  ["schedule.replanned", "schedule planned again"],
  ["schedule.fired", "schedule fired by hand"],
  ["schedule.backfilled", "schedule backfilled"],
  ["schedules.paused", "many held"],
  ["schedules.resumed", "many released"],
  ["schedules.deleted", "many deleted"],
  ["schedules.patched", "many changed"],
  ["group.paused", "group held"],
  ["group.resumed", "group released"],
  ["group.cancelled", "group deleted"],
  ["tag.paused", "tag held"],
  ["tag.resumed", "tag released"],
  ["jobs.retried", "jobs retried"],
  ["jobs.cancelled", "jobs cancelled"],
  ["calendar.created", "calendar created"],
  ["calendar.replaced", "calendar changed"],
  ["calendar.deleted", "calendar deleted"],
  ["limits.set", "limits set"],
  ["limits.cleared", "limits cleared"],
  ["token.created", "token made"],
  ["token.rotated", "token renewed"],
  ["token.deleted", "token revoked"],
];

/** The known actions, and the one that the address names. */
export function actionChoices(action: string | undefined): readonly (readonly [string, string])[] {
  const isKnown = action === undefined || actionWords.some(([each]) => each === action);
  return isKnown ? actionWords : [...actionWords, [action, action]];
}
