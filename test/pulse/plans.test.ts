import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { touched } from "../support/touched.ts";

const caller = { name: "ann" };
const pulses = 20_000;
const schedules = 4_000;
const edited = 100;

describe.each([
  ["without statistics", false],
  ["with statistics", true],
])("among thousands of pulses and schedules %s", (_, analyzed) => {
  let world: Carillon;
  let sql: Sql;

  beforeAll(async () => {
    world = await carillon();
    sql = connect({ DATABASE_URL: world.databaseUrl }, { max: 1 });
    for (let from = 0; from < schedules; from += 1_000) await apply(puts(from, 1_000));
    await sql`
      insert into carillon.pulses (schedule_id, starts_s, every_s, offset_s, lag_s, target_id, shard, rest, may_have_jobs)
      select 1000000 + n, 1, 60, n % 60, 0, (select min(id) from carillon.pulse_targets), n % 16, '"data":1}', false
      from generate_series(1, ${pulses}::int) n`;
    if (analyzed) await sql`analyze`;
  });

  afterAll(async () => {
    await sql.end();
    await world.stop();
  });

  const apply = (operations: readonly Operation[]) =>
    applyOperations({ sql, queue: world.queue }, operations);
  /** Every second schedule is a pulse. */
  const puts = (from: number, count: number): Operation[] =>
    Array.from({ length: count }, (__, n) => {
      const body = { when: "every 1m", target: { queue: "demo" } };
      const more = (from + n) % 2 === 0 ? { delivery: "pulse" } : {};
      return { kind: "put", key: key(from + n), caller, body: parseScheduleBody({ ...body, ...more }) };
    });
  const key = (n: number) => `k${n}`;
  const of = (parity: number, each: (key: string) => Operation): Operation[] =>
    Array.from({ length: edited }, (__, n) => each(key(1_000 + 2 * n + parity)));

  async function expectOwnOnly(operations: readonly Operation[]): Promise<void> {
    const { scanned, index } = await touched(sql, async () => {
      const applied = await apply(operations);
      expect(new Set(applied.map(({ change }) => change))).toEqual(
        new Set([operations[0]?.kind === "delete" ? "deleted" : "changed"]),
      );
    });
    // A sequential scan of the four thousand schedules is a fair plan for a hundred of them. There
    // are more pulses, so a scan of these is a fault.
    expect(Object.keys(scanned)).not.toContain("pulses");
    // Dead versions of these rows are read as well while a snapshot of another test still needs them.
    expect(Object.entries(index).filter(([, read]) => read > 20 * edited)).toEqual([]);
  }

  test.each([
    ["schedules", 1],
    ["pulses", 0],
  ])("a batch that changes and then deletes some %s reads those alone", async (__, parity) => {
    await expectOwnOnly(of(parity, (each) => ({ kind: "patch", key: each, caller, patch: { payload: 1 } })));
    await expectOwnOnly(of(parity, (each) => ({ kind: "delete", key: each, caller })));
  });

  test("the reclaim of targets looks once at an index for each, and reads no pulse", async () => {
    await sql`insert into carillon.pulse_targets (target) select jsonb_build_object('queue', n) from generate_series(1, 300) n`;
    const { scanned, index } = await touched(sql, async () => {
      expect(await sql`select looked, gone from carillon.reclaim_pulse_targets(1000)`).toEqual([
        { looked: 301, gone: 0 },
      ]);
    });
    expect(await sql`select from carillon.pulse_targets where unused_at is null`).toHaveLength(1);
    expect(Object.keys(scanned)).not.toContain("pulses");
    expect(index["pulses_target"]).toBeLessThan(100);
  });
});
