import { afterEach, beforeEach, expect, test } from "vitest";
import type { Sql } from "../../lib/db/connect.ts";
import { shardCount } from "../../lib/plan/shard.ts";
import { passIdleShards, raiseIdleLines } from "../../lib/tick/fire/idle-shards.ts";
import { connectThrough, textOf } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const all = Array.from({ length: shardCount }, (_, shard) => shard);

const watermarks = async () => {
  const rows = await world.sql<{ at: Date; schedule: string; reached: Date }[]>`
    select watermark_at as at, watermark_schedule as schedule, reached_at as reached from carillon.shards order by id`;
  return rows.map((row) => ({ ...row, at: row.at.toISOString() }));
};

/** Runs `act` while an edit holds the plan lock of a shard. */
async function whileEdited(shard: number, act: () => Promise<void>): Promise<void> {
  await world.sql.begin(async (tx) => {
    await tx`select pg_advisory_xact_lock_shared(1, ${shard}::int)`;
    await act();
  });
}

test("An idle tick takes a few statements in all, not some for each shard and each kind of work", async () => {
  await world.tick();
  await world.clock.advance(minute);
  const statements: string[] = [];
  const sql: Sql = connectThrough(world.databaseUrl, (line) => ({
    ...line,
    run: (statement) => {
      statements.push(textOf(statement));
      line.run(statement);
    },
  }));
  const { as } = world;
  world.as = { ...as, tick: sql };
  try {
    expect(await world.tick()).toMatchObject({ batches: 0, jobs: 0, rolledUp: { fired: 0 } });
  } finally {
    world.as = as;
    await sql.end();
  }
  expect(statements.length, statements.join("\n---\n")).toBeLessThanOrEqual(15);
  expect(new Set((await watermarks()).map((row) => row.at))).toEqual(new Set([at("10:04:00").toISOString()]));
});

test("The watermarks of all idle shards are raised to the horizon together, and those of shards with a due row are not", async () => {
  for (const name of ["first", "at the horizon"]) await world.put(name, { when: "at 2026-03-02T10:03" });
  await world.put("beyond", { when: "at 2026-03-02T10:03:00.001" });
  await world.sql`update carillon.plan p set shard = case s.key when 'first' then 1 when 'beyond' then 3 else 2 end
    from carillon.schedules s where s.id = p.schedule_id`;
  expect(await passIdleShards(world.sql, all)).toEqual(
    new Set(all.filter((shard) => shard !== 1 && shard !== 2)),
  );
  const rows = await watermarks();
  expect(rows[1]).toMatchObject({ at: at("10:00:00").toISOString() });
  expect(rows[3]).toEqual({
    at: at("10:03:00").toISOString(),
    schedule: "9223372036854775807",
    reached: at("10:03:00"),
  });
});

test("A schedule that is due at the watermark's instant keeps its shard from being idle if it comes after the watermark's schedule", async () => {
  await world.put("second", { when: "at 2026-03-02T10:01" });
  await world.sql`update carillon.plan set shard = 5`;
  await world.sql`update carillon.shards set watermark_at = ${at("10:01:00")}, watermark_schedule = 0 where id = 5`;
  expect(await passIdleShards(world.sql, [5])).toEqual(new Set());
  await world.sql`update carillon.shards set watermark_schedule = 9223372036854775807 where id = 5`;
  expect(await passIdleShards(world.sql, [5])).toEqual(new Set([5]));
});

test("The raise of idle shards does not wait for a shard that is being edited, and leaves its watermark", async () => {
  await whileEdited(7, async () => {
    expect(await passIdleShards(world.sql, all)).toEqual(new Set(all.filter((shard) => shard !== 7)));
  });
  expect((await watermarks())[7]?.at).toBe(at("10:00:00").toISOString());
});

test("No watermark of an idle shard is raised past the near plan, or set back", async () => {
  await world.sql`update carillon.shards set near_until = ${at("10:02:00")} where id = 3`;
  await world.sql`update carillon.shards set watermark_at = ${at("11:00:00")} where id = 4`;
  expect(await passIdleShards(world.sql, all)).toEqual(new Set(all));
  const rows = await watermarks();
  expect(rows[3]?.at).toBe("2026-03-02T10:01:59.999Z");
  expect(rows[4]?.at).toBe(at("11:00:00").toISOString());
});

test("The near lines of shards that have no far row to move are raised together", async () => {
  await world.put("far", { when: "at 2026-03-05T12:00" });
  await world.put("farther", { when: "at 2026-03-06T00:00" });
  await world.sql`update carillon.plan_far p set shard = case s.key when 'far' then 1 else 2 end
    from carillon.schedules s where s.id = p.schedule_id`;
  await world.clock.advance(day);
  await whileEdited(9, async () => {
    expect(await raiseIdleLines(world.sql, all)).toEqual(
      new Set(all.filter((shard) => shard !== 1 && shard !== 9)),
    );
  });
  const lines = await world.sql<{ line: Date }[]>`select near_until as line from carillon.shards order by id`;
  const [before, after] = [new Date("2026-03-05T00:00:00Z"), new Date("2026-03-06T00:00:00Z")];
  expect(lines.map(({ line }) => line)).toEqual(
    all.map((shard) => (shard === 1 || shard === 9 ? before : after)),
  );
});
