import type { Sql } from "../db/connect.ts";
import { Refusal } from "../refusal.ts";
import { calendarsNamed } from "../schedule/calendars.ts";
import { resolveCadence } from "../schedule/resolve-spec.ts";
import type { ScheduleBody } from "../schedule/schedule-body.ts";
import type { Operation } from "./operation.ts";

/**
 * Searches for what comes of the puts that name a calendar, before a transaction has locks for which others wait. What takes long is
 * remembered by that; nothing is decided: the transaction asks again, by the calendar that stands then.
 */
export async function foreseeRuns(sql: Sql, operations: readonly Operation[]): Promise<void> {
  const puts = new Map<string, { key: string; body: ScheduleBody; name: string }>();
  for (const { kind, key, ...operation } of operations) {
    if (kind !== "put" || !("body" in operation) || operation.body.calendar === null) continue;
    const { body } = operation;
    puts.set(cadenceText(key, body), { key, body, name: operation.body.calendar.name });
  }
  if (puts.size < 2) return;
  const names = [...new Set([...puts.values()].map(({ name }) => name))];
  const calendars = new Map((await calendarsNamed(sql, names)).map((each) => [each.name, each]));
  for (const { key, body, name } of puts.values()) {
    const calendar = calendars.get(name);
    if (calendar === undefined) continue;
    try {
      resolveCadence(key, body, calendar.now, calendar);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
    }
  }
}

/** Of two puts with one text the one is searched for with the other. An `H` takes its place by the key. */
function cadenceText(key: string, { when, timezone, startsAt, endsAt, dst, calendar }: ScheduleBody): string {
  const text = JSON.stringify([when, timezone, startsAt, endsAt, dst, calendar]);
  return /h/i.test(JSON.stringify(when)) ? `${text} ${key}` : text;
}
