import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { readAudit } from "../../lib/audit/read-audit.ts";
import { type BulkBounds, changeMany } from "../../lib/batch/bulk-change.ts";
import type { BulkAction } from "../../lib/batch/bulk-operations.ts";
import { previewMany } from "../../lib/batch/bulk-preview.ts";
import { explain } from "../../lib/explain/explain.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { versionsOf } from "../../lib/history/versions.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const caller = { name: "ann" };
const unbounded: BulkBounds = { most: 10_000, timeIsUp: () => false, mustEnd: () => false };
const deps = () => ({ sql: world.sql, queue: world.queue, log: world.log });
const bulk = (action: Omit<BulkAction, "caller"> & { after?: string }, bounds = unbounded) =>
  changeMany(deps(), { caller, ...action }, bounds);
const preview = (action: Omit<BulkAction, "caller">) => previewMany(deps(), { caller, ...action });
const stateOf = async (key: string) => (await readSchedule(world.sql, key))?.state ?? "gone";
const statesOf = async (...keys: string[]) => Promise.all(keys.map(stateOf));
const audited = () =>
  world.sql<{ action: string; subject: string; detail: object }[]>`
    select action, subject, detail from carillon.audit where action like 'schedules.%' order by id`;

async function some(...keys: string[]): Promise<void> {
  for (const key of keys) await world.put(key, { when: "every 5m", tags: ["t"] });
}

const crm = { prefix: "crm:" };

describe("a bulk action", () => {
  test("A bulk pause holds the schedules that match and no other, and a bulk resume releases them", async () => {
    await some("crm:a", "crm:b", "crm:c", "other");
    const reason = "migration";
    expect(await bulk({ filter: crm, change: { verb: "pause" }, reason })).toEqual({
      ...{ done: 3, unchanged: 0, failed: 0, failures: [] },
    });
    expect(await statesOf("crm:a", "crm:c", "other")).toEqual(["paused", "paused", "active"]);
    expect((await readSchedule(world.sql, "crm:b"))?.holds).toMatchObject([{ owner: "ann", reason }]);
    expect(await bulk({ filter: crm, change: { verb: "pause" }, reason })).toMatchObject({
      done: 0,
      unchanged: 3,
    });
    const paused = { ...crm, state: "paused" } as const;
    expect(await bulk({ filter: paused, change: { verb: "resume" } })).toMatchObject({ done: 3 });
    expect(await statesOf("crm:a", "crm:b", "crm:c")).toEqual(["active", "active", "active"]);
  });

  test("A bulk resume leaves the holds of other owners", async () => {
    await some("crm:a");
    await world.pause("crm:a", { owner: "bob" });
    expect(await bulk({ filter: crm, change: { verb: "resume" } })).toMatchObject({ done: 0, unchanged: 1 });
    expect(await bulk({ filter: crm, change: { verb: "resume", owner: "bob" } })).toMatchObject({ done: 1 });
  });

  test("A bulk delete cancels waiting jobs, and a bulk patch changes the plan", async () => {
    await some("crm:a", "crm:b", "other");
    await world.tick();
    expect(await bulk({ filter: { tag: "t", ...crm }, change: { verb: "delete" } })).toMatchObject({
      done: 2,
    });
    expect(await statesOf("crm:a", "crm:b", "other")).toEqual(["gone", "gone", "active"]);
    const patch = { when: "every 7m" };
    expect(await bulk({ filter: { tag: "t" }, change: { verb: "patch", patch } })).toMatchObject({ done: 1 });
    expect((await readSchedule(world.sql, "other"))?.body.when).toBe("every 7m");
  });

  test("A bulk action goes on where the call before stopped, until nothing is left", async () => {
    const keys = Array.from({ length: 30 }, (_, n) => `crm:${String(n).padStart(2, "0")}`);
    await some(...keys);
    let done = 0;
    let calls = 0;
    for (let after: string | undefined; ; ) {
      const part = await bulk(
        { filter: crm, change: { verb: "pause" }, ...(after === undefined ? {} : { after }) },
        { ...unbounded, most: 12, timeIsUp: () => true },
      );
      expect(part.done).toBeLessThanOrEqual(12);
      done += part.done;
      calls += 1;
      after = part.next;
      if (after === undefined) break;
    }
    expect({ done, calls }).toEqual({ done: 30, calls: 3 });
    expect(await audited()).toHaveLength(3);
  });

  test("A schedule that is refused or cannot be written is reported, and the others are changed", async () => {
    await some("crm:a", "crm:b", "crm:c");
    await world.sql.unsafe(`
      create function carillon.break_keys() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
      create trigger break_keys before update on carillon.schedules for each row when (new.key = 'crm:b')
        execute function carillon.break_keys()`);
    const done = await bulk({ filter: crm, change: { verb: "pause" } });
    expect(done).toMatchObject({ done: 2, failed: 1, failures: [{ key: "crm:b", kind: "failed" }] });
    expect(await statesOf("crm:a", "crm:b", "crm:c")).toEqual(["paused", "active", "paused"]);
    const patch = { when: "at 2020-01-01T00:00:00Z" };
    const refused = await bulk({ filter: crm, change: { verb: "patch", patch } });
    expect(refused).toMatchObject({ done: 0, failed: 3 });
    expect(refused.failures.map(({ key, kind }) => [key, kind]).sort()).toEqual([
      ["crm:a", "invalid"],
      ["crm:b", "invalid"],
      ["crm:c", "invalid"],
    ]);
  });

  test("A pause that ends in the past is refused before anything is changed, by a dry run too", async () => {
    await some("crm:a");
    const action = { filter: crm, change: { verb: "pause", until: at(0) } } as const;
    const refusal = { kind: "invalid", faults: [{ path: "until" }] };
    await expect(bulk(action)).rejects.toMatchObject(refusal);
    await expect(preview(action)).rejects.toMatchObject(refusal);
    expect(await audited()).toEqual([]);
  });
});

describe("the record of a bulk action", () => {
  const change = { verb: "pause", until: at(hour) } as const;

  test("A bulk action has one audit entry with filter, reason and counts, and its schedules have none", async () => {
    await some("crm:a", "crm:b");
    await bulk({ filter: crm, change, reason: "migration" });
    expect(await audited()).toMatchObject([
      {
        action: "schedules.paused",
        subject: "prefix crm:",
        detail: { owner: "ann", reason: "migration", filter: crm, done: 2, unchanged: 0, failed: 0 },
      },
    ]);
    expect(await world.sql`select from carillon.audit where action = 'schedule.paused'`).toHaveLength(0);
  });

  test("The versions of a schedule show who changed it in a bulk action, and why", async () => {
    await some("crm:a");
    await bulk({ filter: crm, change, reason: "migration" });
    const { items } = await versionsOf(world.sql, { key: "crm:a", limit: 1 });
    expect(items).toMatchObject([
      {
        change: "paused",
        by: "ann",
        detail: { owner: "ann", reason: "migration", until: at(hour).toISOString(), filter: crm },
      },
    ]);
    expect(items[0]?.detail).not.toHaveProperty("done");
  });

  test("An occurrence that was skipped under a bulk pause is explained by its owner and reason", async () => {
    await some("crm:a");
    await bulk({ filter: crm, change, reason: "migration" });
    await world.clock.setNow(at(2 * hour));
    await world.tick();
    const { sentence } = await explain(world.sql, { key: "crm:a", at: at(10 * minute) });
    expect(sentence).toContain('ann ("migration")');
  });

  test("The audit of a key has the bulk actions that changed the schedule, each once, among its other entries", async () => {
    await some("crm:a", "other");
    await world.clock.advance(minute);
    await bulk({ filter: crm, change });
    await world.clock.advance(minute);
    await bulk({ filter: crm, change: { verb: "resume" } });
    await world.clock.advance(minute);
    await world.patch("crm:a", { payload: 1 });
    const actions = async (filter: object, limit = 50) =>
      (await readAudit(world.sql, { filter, limit })).items.map(({ action }) => action);
    const all = ["schedule.patched", "schedules.resumed", "schedules.paused", "schedule.created"];
    expect(await actions({ subject: "crm:a" })).toEqual(all);
    expect(await actions({ subject: "crm:a", prefix: "crm:" })).toEqual(all);
    expect(await actions({ subject: "crm:a", action: "schedules.paused" })).toEqual(["schedules.paused"]);
    expect(await actions({ subject: "other" })).toEqual(["schedule.created"]);
    const paged: string[] = [];
    for (let before: Parameters<typeof readAudit>[1]["before"]; ; ) {
      const page = await readAudit(world.sql, { filter: { subject: "crm:a" }, limit: 1, before });
      paged.push(...page.items.map(({ action }) => action));
      before = page.next;
      if (before === undefined) break;
    }
    expect(paged).toEqual(all);
  });

  test("A bulk action by a token that reaches more keys is hidden from the audit of a narrower token", async () => {
    await some("crm:a");
    await bulk({ filter: { tag: "t" }, change });
    const filter = { subject: "crm:a", prefix: "crm:" };
    const { items } = await readAudit(world.sql, { filter, limit: 50 });
    expect(items.map(({ action }) => action)).toEqual(["schedule.created"]);
  });

  test("The entry of a bulk action that was cut off has the counts of its batches", async () => {
    await some("crm:a", "crm:b", "crm:c");
    let asked = 0;
    const cutOff = () => {
      asked += 1;
      if (asked === 1) return false;
      throw new Error("The process was killed.");
    };
    await expect(bulk({ filter: crm, change }, { ...unbounded, mustEnd: cutOff })).rejects.toThrow("killed");
    const soFar = { done: 3, unchanged: 0, failed: 0 };
    expect(await audited()).toMatchObject([{ detail: { filter: crm, soFar } }]);
    const { items } = await versionsOf(world.sql, { key: "crm:a", limit: 1 });
    expect(items[0]?.detail).not.toHaveProperty("soFar");
  });

  test("The end of a bulk action replaces the counts of its batches", async () => {
    await some("crm:a");
    await bulk({ filter: crm, change });
    const [entry] = await audited();
    expect(entry?.detail).toMatchObject({ done: 1 });
    expect(entry?.detail).not.toHaveProperty("soFar");
  });

  test("The counts of an entry are written once", async () => {
    await some("crm:a");
    await bulk({ filter: crm, change });
    const [entry] = await world.sql<{ at: Date; id: string }[]>`
      select at, id from carillon.audit where action = 'schedules.paused'`;
    await world.sql`select carillon.end_bulk(${entry?.at ?? ""}, ${entry?.id ?? ""}, '{"done": 99}')`;
    expect(await audited()).toMatchObject([{ detail: { done: 1 } }]);
  });
});

describe("a dry run", () => {
  test("A dry run counts the matching schedules and names the first ones, and changes nothing", async () => {
    await some("crm:a", "crm:b", "other");
    expect(await preview({ filter: crm, change: { verb: "pause" } })).toEqual({
      ...{ count: 2, more: false },
      samples: [{ key: "crm:a" }, { key: "crm:b" }],
      paused: { count: 0, more: false },
    });
    expect(await statesOf("crm:a", "crm:b")).toEqual(["active", "active"]);
    expect(await audited()).toEqual([]);
  });

  test.each([
    [{}, 3, 1],
    [{ keys: ["crm:a", "crm:b"] }, 2, 1],
    [{ state: "paused" }, 1, 1],
    [{ state: "active" }, 2, 0],
  ] as const)(
    "A dry run of a pause and of a resume counts the schedules that are paused already: %j",
    async (filter, count, paused) => {
      await some("crm:a", "crm:b", "other");
      await world.pause("crm:a");
      for (const verb of ["pause", "resume"] as const)
        expect(await preview({ filter, change: { verb } })).toMatchObject({
          count,
          paused: { count: paused },
        });
      expect(await preview({ filter, change: { verb: "delete" } })).not.toHaveProperty("paused");
    },
  );

  test("A dry run of a patch has the next occurrences before and after, or the reason of a refusal", async () => {
    await some("crm:a");
    await world.put("crm:b", { when: "every 5m", maxFires: 3 });
    const rows = () => world.sql`select version, updated_at from carillon.schedules order by key`;
    const before = await rows();
    const { samples } = await preview({
      filter: crm,
      change: { verb: "patch", patch: { when: "every 1h" } },
    });
    expect(samples[0]).toMatchObject({
      key: "crm:a",
      changes: {
        before: expect.arrayContaining([at(5 * minute)]),
        after: expect.arrayContaining([at(hour)]),
      },
    });
    const refused = await preview({ filter: crm, change: { verb: "patch", patch: { when: "nonsense" } } });
    expect(refused.samples).toMatchObject([{ refused: expect.any(String) }, { refused: expect.any(String) }]);
    expect(await rows()).toEqual(before);
    expect(await world.sql`select from carillon.schedule_versions where version > 1`).toHaveLength(0);
  });
});
