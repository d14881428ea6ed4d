import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { TooMuchAtOnce } from "../../lib/batch/apply-wave.ts";
import type { Applied, ApplyOptions, Operation } from "../../lib/batch/operation.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { countStatements } from "./counted-statements.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const put = (
  key: string,
  body: object = {},
  more: { ifMatch?: number[]; countFrom?: Date } = {},
): Operation => ({
  ...more,
  kind: "put",
  key,
  caller,
  body: parseScheduleBody({ when: "every 5m", target: { queue: "demo" }, ...body }),
});
const apply = (operations: readonly Operation[], options?: ApplyOptions): Promise<Applied[]> =>
  applyOperations({ sql: world.as.api, queue: world.queue }, operations, options);
const changes = async (operations: readonly Operation[], options?: ApplyOptions) =>
  (await apply(operations, options)).map(({ change }) => change);

describe("many operations at once", () => {
  test("many operations at once create, change, keep and delete schedules, with the results in their order", async () => {
    await world.put("there", { when: "every 1h" });
    await world.put("same", { when: "every 5m" });
    await world.put("gone", { when: "every 1h" });
    expect(
      await changes([
        put("new"),
        put("there"),
        put("same"),
        { kind: "delete", key: "gone", caller },
        { kind: "delete", key: "nobody", caller },
        { kind: "patch", key: "there", caller, patch: { payload: 1 } },
        { kind: "pause", key: "new", caller },
        { kind: "resume", key: "new", caller },
        put("there", {}, { ifMatch: [1] }),
      ]),
    ).toEqual([
      "created",
      "changed",
      "unchanged",
      "deleted",
      "refused",
      "changed",
      "changed",
      "changed",
      "refused",
    ]);
  });

  test("many operations of one key are applied one after the other: create, delete and create again", async () => {
    const applied = await apply([
      put("a"),
      { kind: "delete", key: "a", caller },
      put("a", { payload: "second" }),
      { kind: "patch", key: "a", caller, patch: { payload: "third" } },
    ]);
    expect(applied.map(({ change }) => change)).toEqual(["created", "deleted", "created", "changed"]);
    const rows = await world.sql`
      select s.deleted_at is null as live, s.version from carillon.schedules s order by s.id`;
    expect([...rows]).toEqual([
      { live: false, version: 2 },
      { live: true, version: 2 },
    ]);
  });

  test("an all-or-nothing batch changes nothing if one operation is refused", async () => {
    const applied = await changes([put("a"), { kind: "delete", key: "nobody", caller }], {
      allOrNothing: true,
    });
    expect(applied).toEqual(["created", "refused"]);
    expect(await world.sql`select from carillon.schedules`).toHaveLength(0);
  });

  test("a batch passes over the operations that `before` names, and commits the rows that `after` writes", async () => {
    await world.sql`create table noted (text text)`;
    const applied = await changes([put("a"), put("b")], {
      before: async () => new Set([0]),
      after: async (tx, done) => {
        await tx`insert into noted values (${done.map(({ change }) => change).join(" ")})`;
      },
    });
    expect(applied).toEqual(["passed-over", "created"]);
    expect([...(await world.sql`select text from noted`)]).toEqual([{ text: "passed-over created" }]);
  });

  test("relative times count from `countFrom`, and an instant that has passed by then runs at once", async () => {
    const now = world.clock.now();
    const ago = new Date(now.getTime() - 3_600_000);
    await apply([
      put("late", { when: "in 30m" }, { countFrom: ago }),
      put("coming", { when: "in 3h" }, { countFrom: ago }),
    ]);
    const rows = await world.sql`
      select s.key, v.once_at as "onceAt" from carillon.schedules s
      join carillon.schedule_versions v on v.schedule_id = s.id order by s.key`;
    expect([...rows]).toEqual([
      { key: "coming", onceAt: new Date(now.getTime() + 2 * 3_600_000) },
      { key: "late", onceAt: now },
    ]);
    expect((await world.jobs("late")).map(({ state }) => state)).toEqual(["waiting"]);
  });
});

test("Edits that follow each other on one key cost no further statements, and each has its version", async () => {
  await world.put("k", { when: "every 1h" });
  await world.tick();
  const counted = countStatements(world.databaseUrl);
  const deps = { sql: counted.sql, queue: world.queue };
  const costOf = async (count: number) => {
    counted.taken();
    const applied = await applyOperations(
      deps,
      Array.from({ length: count }, (_, n) => put("k", { when: `every ${2 + n}m`, payload: n })),
    );
    expect(applied.map((each) => ("version" in each ? each.version : null))).toEqual(
      Array.from({ length: count }, (_, n) => versions + n + 1),
    );
    versions += count;
    return counted.taken().length;
  };
  let versions = 1;
  const [few, many] = [await costOf(3), await costOf(400)];
  await counted.sql.end();
  expect(many).toBe(few);
  expect(await world.sql`select from carillon.schedule_versions`).toHaveLength(404);
  const [head] = await world.sql`select version, fresh_version from carillon.schedules`;
  expect(head).toEqual({ version: 404, fresh_version: 404 });
});

describe("operations that cannot be done together", () => {
  const laned = (n: number) => put(`laned:${n}`, { overlap: "queue" });
  const unlaned = (n: number) => put(`laned:${n}`, { overlap: "allow" });
  const each = (count: number, operation: (n: number) => Operation) =>
    Array.from({ length: count }, (_, n) => operation(n));

  test("at most 25 operations are done one by one in a transaction, or 100 where all or none are done, since claims and ticks wait for it", async () => {
    await apply(each(120, laned));
    await expect(apply(each(26, unlaned))).rejects.toThrow(
      "More than 25 of these operations must be done one by one",
    );
    await expect(apply(each(120, unlaned), { allOrNothing: true })).rejects.toThrow(
      "More than 100 of these operations must be done one by one",
    );
    expect(await world.sql`select from carillon.schedules where version > 1`).toHaveLength(0);
    expect(await changes(each(25, unlaned))).toEqual(each(25, unlaned).map(() => "changed"));
    const whole = each(100, (n) => unlaned(n + 20));
    expect(await changes(whole, { allOrNothing: true })).toEqual([
      ...Array(5).fill("unchanged"),
      ...Array(95).fill("changed"),
    ]);
  });

  test("operations that repeat a key count towards the limit of those that are done one by one", async () => {
    const again = (n: number) => put("again", { payload: n, overlap: "queue" });
    await expect(apply(each(30, again))).rejects.toThrow(TooMuchAtOnce);
    expect(await changes(each(20, again))).toHaveLength(20);
  });

  test("edits of schedules with lanes, limits or spreads, and pauses of schedules with a spread, do not count towards the limit of those that are done one by one", async () => {
    const bodies = [{ overlap: "queue" }, { maxFires: 5 }, { spread: "10m" }, { group: "g", serial: true }];
    const all = each(200, (n) => put(`plain:${n}`, bodies[n % 4]));
    await apply(all);
    await world.tick();
    const patched = each(
      200,
      (n): Operation => ({ kind: "patch", key: `plain:${n}`, caller, patch: { payload: n } }),
    );
    expect(await changes(patched)).toEqual(patched.map(() => "changed"));
    const paused = each(
      200,
      (n): Operation => ({ kind: "pause", key: `plain:${n}`, caller, reason: "audit" }),
    );
    const unlimited = paused.filter((_, n) => n % 8 === 2);
    expect(await changes(unlimited)).toEqual(unlimited.map(() => "changed"));
    expect(
      await changes(each(200, (n): Operation => ({ kind: "delete", key: `plain:${n}`, caller }))),
    ).toEqual(all.map(() => "deleted"));
  });
});

test("each of many new schedules may be patched into its own group", async () => {
  const operations = Array.from({ length: 15 }, (_, n): Operation[] => [
    put(`grouped:${n}`),
    { kind: "patch", key: `grouped:${n}`, caller, patch: { group: `g:${n}` } },
  ]).flat();
  expect(await changes(operations)).toEqual(operations.map((_, n) => (n % 2 === 0 ? "created" : "changed")));
});

test("a put with `paused` pauses, also if an earlier hold of its owner has just ended", async () => {
  await world.put("held", { when: "every 5m" });
  await world.pause("held", { until: new Date(world.clock.now().getTime() + 60_000) });
  await world.clock.advance(61_000);
  await apply([put("held", { paused: true })]);
  const [hold] = await world.sql`select until, since from carillon.holds`;
  expect(hold).toEqual({ until: null, since: world.clock.now() });
  const [row] = await world.sql`select held_since is not null as held from carillon.schedules`;
  expect(row).toEqual({ held: true });
});

test("a resume in a batch does not change a schedule whose hold has just ended by itself", async () => {
  await world.put("held", { when: "every 5m" });
  await world.pause("held", { until: new Date(world.clock.now().getTime() + 60_000) });
  await world.tick();
  await world.clock.advance(61_000);
  expect(await changes([{ kind: "resume", key: "held", caller }])).toEqual(["unchanged"]);
});
