import { afterEach, beforeEach, expect, test } from "vitest";
import type { Acceptance } from "../../lib/command/acceptance.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { applyInbox } from "../../lib/inbox/apply-inbox.ts";
import { connectThrough } from "../race/lines.ts";
import { cutBefore } from "../race/stage.ts";
import { minute } from "../support/instants.ts";
import { acceptance, type InboxWorld, inboxWorld } from "./inbox-world.ts";

let world: InboxWorld;
beforeEach(async () => {
  world = await inboxWorld();
  await world.tick();
});
afterEach(() => world.stop());

const noBounds = { most: 10_000, timeIsUp: () => false };
const deps = (accept: Acceptance = acceptance) => ({
  sql: world.sql,
  queue: world.queue,
  log: world.log,
  acceptance: accept,
});
const put = (key: string, description: string) => {
  const body = { key, description, when: "every 1h", target: { queue: "demo" } };
  return world.caller.sql`select carillon.put_schedule(${JSON.stringify(body)}::text::jsonb)`;
};
const failures = () => world.log.lines.filter(({ event }) => event === "quarantine.set-aside");

test("a command waits for an older failed one of its key, also if its number has more digits", async () => {
  // Otherwise the newer command is applied first, and the older one undoes it later.
  await world.sql`alter table carillon.inbox alter column id restart with 9`;
  await put("counted", "older");
  await put("counted", "newer");
  const failing: Acceptance = {
    ...acceptance,
    body: (body, key) => {
      if (body.description === "older") throw new TypeError("Carillon has a mistake.");
      acceptance.body(body, key);
    },
  };
  expect(await applyInbox(deps(failing), noBounds)).toMatchObject({ applied: 0, failed: 1 });
  expect(await readSchedule(world.sql, "counted")).toBeNull();
  await world.clock.advance(minute);
  await applyInbox(deps(), noBounds);
  expect(await readSchedule(world.sql, "counted")).toMatchObject({ body: { description: "newer" } });
});

test.each([1, 2])(
  "a run of the inbox whose connection is lost ends, and blames no command of %i",
  async (count) => {
    // Otherwise each restart of the database raises an alarm for every waiting command.
    for (let n = 0; n < count; n++) await put(`waits-${n}`, "waits");
    const sql = connectThrough(world.databaseUrl, cutBefore("begin"));
    await expect(applyInbox({ ...deps(), sql }, noBounds)).rejects.toMatchObject({ name: "ConnectionLost" });
    await sql.end();
    expect(failures()).toEqual([]);
    expect(await world.waiting()).toBe(count);
  },
);
