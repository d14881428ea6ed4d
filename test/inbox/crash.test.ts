import { afterAll, beforeAll, expect, test } from "vitest";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { silentLog } from "../../lib/log/log.ts";
import { type Fuse, fuse, type Moment } from "../crash/fuse.ts";
import { connectThrough } from "../race/lines.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeAll(async () => {
  world = await inboxWorld();
});
afterAll(() => world.stop());

const bounds = { most: 1_000, timeIsUp: () => false };
let rounds = 0;

/**
 * A new schedule, an edit and a delete of old ones, and a command that is refused; all under keys
 * of this round.
 */
async function writeCommands(): Promise<string> {
  rounds += 1;
  const prefix = `round-${rounds}-`;
  await world.put(`${prefix}old`, { when: "every 1h" });
  await world.put(`${prefix}gone`, { when: "every 1h" });
  await world.caller.sql.begin(async (tx) => {
    for (const command of [
      { put: { key: `${prefix}new`, when: "in 3h", target: { queue: "demo" } } },
      { put: { key: `${prefix}bad`, when: "never", target: { queue: "demo" } } },
      { patch: { key: `${prefix}old`, payload: rounds } },
      { patch: { key: `${prefix}nobody`, payload: 1 } },
      { delete: `${prefix}gone` },
    ])
      await tx`select carillon.send_command(${JSON.stringify(command)}::text::jsonb)`;
  });
  return prefix;
}

/** The schedules and refusals that the commands of a round have made. */
async function outcome(prefix: string) {
  const [schedules, refused] = await Promise.all([
    world.sql`
      select substr(key, ${prefix.length + 1}::int) as key, version, deleted_at is not null as deleted from carillon.schedules
      where starts_with(key, ${prefix}) order by key`,
    world.sql`
      select substr(key, ${prefix.length + 1}::int) as key from carillon.inbox_refusals where starts_with(key, ${prefix}) order by key`,
  ]);
  return { schedules, refused: refused.map(({ key }) => key), waiting: await world.waiting() };
}

const applied = {
  schedules: [
    { key: "gone", version: 2, deleted: true },
    { key: "new", version: 1, deleted: false },
    { key: "old", version: 2, deleted: false },
  ],
  refused: ["bad", "nobody"],
  waiting: 0,
};

async function applyUnder(moment?: Moment): Promise<{ lit: Fuse; prefix: string }> {
  const prefix = await writeCommands();
  const lit = fuse(moment);
  const process = lit.process();
  process.begin("applier");
  const sql = connectThrough(world.databaseUrl, process.wrap);
  const dying = applyInbox({ sql, queue: world.queue, log: silentLog, acceptance }, bounds);
  if (moment === undefined) await dying;
  else await dying.catch(() => {});
  await Promise.all([sql.end(), process.closed()]);
  return { lit, prefix };
}

test("a run of the inbox may die at any statement, and each command is applied once by the next run", async () => {
  const whole = await applyUnder();
  expect(await outcome(whole.prefix)).toEqual(applied);
  const moments = whole.lit.operations.flatMap((operation): Moment[] => [
    { ...operation, side: "before" },
    { ...operation, side: "after" },
  ]);
  expect(moments.length).toBeGreaterThan(30);
  for (const moment of moments) {
    const { lit, prefix } = await applyUnder(moment);
    expect(lit.isBlown(), `${moment.side} ${moment.label} (${moment.nth})`).toBe(true);
    const healed = await applyInbox(
      { sql: world.as.api, queue: world.queue, log: world.log, acceptance },
      bounds,
    );
    expect(healed.failed).toBe(0);
    expect(await outcome(prefix), `${moment.side} ${moment.label} (${moment.nth})`).toEqual(applied);
  }
});
