import type { AuditEntry } from "../../../client/audit.ts";
import type { Json } from "../../../client/json.ts";
import { numberText } from "../../data/amounts.ts";

/** The change in words: the verb before the name of its subject, and the rest after it, with instants in UTC. */
export interface AuditSentence {
  verb: string;
  rest: string;
}

const verbs: Readonly<Record<string, string>> = {
  "schedule.created": "created",
  "schedule.replaced": "replaced",
  "schedule.patched": "changed",
  "schedule.paused": "held",
  "schedule.resumed": "released",
  "schedule.deleted": "deleted",
  "schedule.restored": "restored an older version of",
  "schedule.replanned": "planned again",
  "schedule.fired": "fired by hand",
  "schedule.backfilled": "made up for missed runs of",
  "schedules.paused": "held all that match",
  "schedules.resumed": "released all that match",
  "schedules.deleted": "deleted all that match",
  "schedules.patched": "changed all that match",
  "group.paused": "held the group",
  "group.resumed": "released the group",
  "group.cancelled": "deleted the schedules of the group",
  "tag.paused": "held the tag",
  "tag.resumed": "released the tag",
  "group.pause-completed": "held all schedules of the group",
  "group.resume-completed": "released all schedules of the group",
  "tag.pause-completed": "held all schedules of the tag",
  "tag.resume-completed": "released all schedules of the tag",
  "jobs.retried": "retried jobs of",
  "jobs.cancelled": "cancelled jobs of",
  "calendar.created": "created the calendar",
  "calendar.replaced": "changed the calendar",
  "calendar.deleted": "deleted the calendar",
  "limits.set": "set the limits of",
  "limits.cleared": "cleared the limits of",
  "token.created": "made the token",
  "token.rotated": "gave a new secret to the token",
  "token.deleted": "revoked the token",
};

export function auditSentence({ action, detail }: AuditEntry): AuditSentence {
  const fields = fieldsOf(detail);
  const isEnd = fields["ended"] === true;
  const parts = [
    text(fields, "owner", (owner) =>
      isEnd ? `the hold of ${owner} reached its end` : `in the name of ${owner}`,
    ),
    isEnd ? null : text(fields, "until", (until) => `until ${instantText(until)}`),
    count(fieldsOf(fields["soFar"] ?? null), "done", "changed so far, and no end is recorded"),
    count(fields, "done", "changed"),
    count(fields, "failed", "failed"),
    count(fields, "members", fields["members"] === 1 ? "schedule" : "schedules"),
    count(fields, "jobs", fields["jobs"] === 1 ? "job" : "jobs"),
    count(fields, "accepted", "jobs made"),
    versionText(action, fields["version"]),
    text(fields, "reason", (reason) => `“${reason}”`),
  ].filter((part) => part !== null);
  return { verb: verbs[action] ?? `did ${action} to`, rest: parts.join(", ") };
}

/** In the form that a sentence of the server has, which a view shows on the clocks of its zone. */
function instantText(text: string): string {
  const at = Date.parse(text);
  return Number.isNaN(at) ? text : new Date(at).toISOString();
}

/** The version that was restored, also by making a deleted schedule again. */
function versionText(action: string, version: Json | undefined): string | null {
  if (typeof version !== "number") return null;
  if (action === "schedule.created") return `again, from version ${version} of the deleted one`;
  return action === "schedule.restored" ? `version ${version}` : null;
}

/** The key of the schedule that an entry is about; null for another subject. */
export function keyOfEntry({ action, subject, version }: AuditEntry): string | null {
  const isOfSchedule = action.startsWith("schedule.") || (action.startsWith("jobs.") && version !== null);
  return isOfSchedule ? subject : null;
}

export const fieldsOf = (detail: Json): { [name: string]: Json } =>
  typeof detail === "object" && detail !== null && !Array.isArray(detail) ? detail : {};

function text(
  fields: { [name: string]: Json },
  name: string,
  words: (value: string) => string,
): string | null {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? words(value) : null;
}

function count(fields: { [name: string]: Json }, name: string, word: string): string | null {
  const value = fields[name];
  return typeof value === "number" ? `${numberText(value)} ${word}` : null;
}
