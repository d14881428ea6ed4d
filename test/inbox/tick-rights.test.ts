import { afterAll, beforeAll, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import { readCalendarRules } from "../../lib/cadence/calendar-rules.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { putCalendar } from "../../lib/rules/calendar-edits.ts";
import { failed as failedWith } from "../../lib/target/delivery.ts";
import { hour, minute, second } from "../support/instants.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterAll(() => world.stop());

const target = { queue: "demo" };
const send = (command: object) =>
  world.caller.sql`select carillon.send_command(${JSON.stringify(command)}::text::jsonb)`;

/** Applies the inbox with the tick's rights. */
async function apply(): Promise<void> {
  const { as, queue, log } = world;
  const bounds = { most: 1_000, timeIsUp: () => false };
  const { failed, refused } = await applyInbox({ sql: as.tick, queue, log, acceptance }, bounds);
  expect(failed).toBe(0);
  expect(refused).toBe(0);
}

/** Schedules with every policy that uses tables of its own. */
const kinds: Record<string, object> = {
  plain: { when: "every 1m", target },
  cron: { when: "*/5 * * * *", timezone: "Europe/Berlin", target, tags: ["a", "b"] },
  skipping: { when: "every 30s", target, overlap: "skip" },
  queueing: { when: "every 30s", target, overlap: "queue", group: "lanes" },
  serial: { when: "every 30s", target, group: "serial", serial: true, tags: ["a"] },
  handled: { when: "every 1m", target: { handler: "greet" }, payload: { name: "Ann" } },
  counted: { when: "every 1m", target, maxFires: 3, deleteOnEnd: true },
  catching: { when: "every 10s", target, catchUp: { policy: "all", limit: 50 } },
  calendared: { when: "0 * * * *", target, calendar: { name: "days-off", on: "next" } },
  far: { when: "at 2026-12-01T09:00:00Z", target },
  soon: { when: "in 5s", target },
  paused: { when: "every 1m", target, paused: true },
  dying: { when: "every 1m", target, retry: { attempts: 1 }, holdAfter: 2 },
};
const keys = Object.keys(kinds);
/** The schedule `counted` has ended by itself when it would be edited. */
const living = keys.filter((key) => key !== "counted");

test("the tick has every right that edits need, for schedules of every kind and in every state", async () => {
  const { queue, as } = world;
  const read = readCalendarRules({ weekly: ["sat", "sun"] });
  if (!read.ok) throw new Error(JSON.stringify(read.faults));
  await putCalendar(
    { sql: as.api, queue },
    { name: "days-off", caller: { name: "ann" }, body: { description: null, rules: read.rules } },
  );
  const held = { label: { scope: "group", name: "serial" } as const, caller: { name: "ann" } };
  for (const key of keys) await send({ put: { key, ...kinds[key] } });
  await apply();
  world.outcome = ({ key }) => (key === "dying" ? failedWith("no") : { kind: "done" });
  const pass = async (ms: number) => {
    await world.clock.advance(ms);
    await world.tick();
    await world.work();
  };
  await pass(minute);
  await pass(minute);
  for (const key of keys) await send({ patch: { key, payload: { name: "Bob" } } });
  await pauseLabel({ sql: as.api, queue }, held);
  await apply();
  await world.clock.advance(10 * second);
  for (const key of living) await send({ pause: { key, reason: "a while" } });
  await apply();
  await pass(hour);
  await resumeLabel({ sql: as.api, queue }, held);
  for (const key of living) await send({ resume: key });
  await apply();
  await pass(minute);
  // Without a tick in between: the shard lags, and the edit makes the jobs that are due by now.
  await world.clock.advance(10 * minute);
  for (const key of keys)
    await send({ put: { key, ...kinds[key], when: "every 2m", group: "lanes", tags: ["c"] } });
  await apply();
  await pass(minute);
  for (const key of keys) await send({ delete: key });
  await apply();
  const [left] = await world.sql`select count(*)::int as n from carillon.schedules where deleted_at is null`;
  expect(left).toEqual({ n: 0 });
});
