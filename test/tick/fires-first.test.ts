import { afterEach, beforeEach, expect, test } from "vitest";
import { canaryKeys } from "../../lib/canary/canaries.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { connectThrough, textOf, valuesOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";

let world: Carillon;
let dying: Sql | undefined;

beforeEach(async () => {
  world = await carillon();
  world.more.tick = { acceptance };
});

afterEach(async () => {
  await dying?.end();
  dying = undefined;
  await world.stop();
});

const canary = { minutes: 5, queue: "fast" } as const;

/** The tick dies at the first statement with this text: neither that nor anything later is done. */
function tickDyingAt(text: string): Promise<unknown> {
  let dead = false;
  dying = connectThrough(
    world.databaseUrl,
    (line) => ({
      ...line,
      run: (statement) => {
        dead ||= textOf(statement).includes(text) || JSON.stringify(valuesOf(statement)).includes(text);
        if (dead) statement.reject(new Error("The tick is dead."));
        else line.run(statement);
      },
    }),
    { max: 3 },
  );
  world.as.tick = dying;
  return world.tick({ canary });
}

test.each([
  ["the inbox is applied", "from carillon.inbox"],
  ["the setting of the bus is kept", "carillon.lifecycle"],
  ["the canaries are kept", Object.values(canaryKeys)[0] ?? ""],
  ["days are attached", "generate_series(s.first"],
  ["far rows are brought near", "from carillon.plan_far"],
])("A tick that dies while %s has fired due jobs and made its pulses", async (_, text) => {
  await world.put("beats", { when: "every 10s", delivery: "pulse", target: { queue: "demo" } });
  await world.put("far", { when: "at 2026-03-09T10:00" });
  await world.put("due", { when: "at 2026-03-02T10:04" });
  await world.tick();
  await world.sql`select carillon.put_schedule('{"key": "called", "when": "every 1h", "target": {"queue": "demo"}}')`;
  await world.clock.advance(2 * minute);
  // As after days without a tick: the other shards would stop at their near line.
  await world.sql`update carillon.shards set near_until = ${at("10:05:00")}
    where id <> (select shard from carillon.schedules where key = 'due')`;
  await world.sql`delete from carillon.parcels`;
  await expect(tickDyingAt(text)).rejects.toThrow("dead");
  expect(await world.jobs("due")).toMatchObject([{ dueAt: at("10:04:00"), state: "waiting" }]);
  const [pulses] =
    await world.sql`select count(*)::int as n from carillon.parcels where pulse_at is not null`;
  expect(pulses?.["n"]).toBeGreaterThan(0);
});

test("An inbox command due before the next tick is fired by the tick that applies it", async () => {
  await world.tick();
  await world.sql`select carillon.put_schedule('{"key": "soon", "when": "in 50s", "target": {"queue": "demo"}}')`;
  await world.sql`select carillon.put_schedule('{"key": "often", "when": "every 30s", "target": {"queue": "demo"}}')`;
  await world.clock.advance(20_000);
  await world.tick();
  expect(await world.jobs("soon")).toMatchObject([{ dueAt: at(50_000), state: "waiting" }]);
  const often = await world.jobs("often");
  expect(often.map(({ dueAt }) => dueAt.getTime())).toEqual(
    Array.from({ length: 6 }, (_each, n) => at(20_000 + (n + 1) * 30_000).getTime()),
  );
});

test("After days without a tick, one tick fires up to its horizon, past the near line that the earlier ticks left", async () => {
  await world.put("hourly", { when: "every 1h", catchUp: { policy: "all", limit: 1_000 } });
  await world.put("far", { when: "at 2026-03-09T10:01" });
  await world.tick();
  await world.clock.advance(7 * day);
  await world.tick();
  expect(await world.jobs("far")).toMatchObject([{ state: "waiting" }]);
  const [line] = await world.sql`select min(watermark_at) as at from carillon.shards`;
  expect(line?.["at"]).toEqual(at(7 * day + 3 * minute));
});

test("A day that cannot be attached stops no shard whose own days are attached from firing", async () => {
  await world.put("due", { when: "every 1m" });
  await world.tick();
  await world.clock.advance(minute);
  const before = await world.jobs("due");
  await world.clock.advance(day);
  await world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock(3, 0)`;
    await world.tick();
  });
  expect((await world.jobs("due")).length).toBeGreaterThan(before.length);
  expect(world.log.lines.map(({ event }) => event)).toContain("tick.days-kept");
});
