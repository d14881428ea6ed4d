import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pauseLabel, resumeLabel, type SharedPauseParams } from "../../lib/batch/label-holds.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { readLabel } from "../../lib/history/groups/read-label.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import type { Label } from "../../lib/schedule/shared-holds.ts";
import { connectThrough, textOf, type WrapLine } from "../race/lines.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute, second } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const shop: Label = { scope: "group", name: "shop" };
const nightly: Label = { scope: "tag", name: "nightly" };
const applicationName = "to-be-killed";
const unbounded = { most: 1_000_000, timeIsUp: () => false };

const deps = () => ({ sql: world.sql, queue: world.queue });
const pause = (label: Label, params: Partial<SharedPauseParams> = {}, bounds = unbounded) =>
  pauseLabel(deps(), { label, caller: { name: "ann" }, ...params }, bounds);
const resume = (label: Label, params: Partial<SharedPauseParams> = {}, bounds = unbounded) =>
  resumeLabel(deps(), { label, caller: { name: "ann" }, ...params }, bounds);
const holdsOf = async (key: string) =>
  ((await readSchedule(world.sql, key))?.holds ?? []).map(({ scope, name, owner }) => [scope, name, owner]);
const stateOf = async (key: string) => (await readSchedule(world.sql, key))?.state;
const audited = async () =>
  (
    await world.sql<{ action: string; subject: string; detail: unknown }[]>`
      select action, subject, detail from carillon.audit where action ~ '^(group|tag)' order by id`
  ).map(({ action, subject, detail }) => [action, subject, detail]);
const heldCount = async () =>
  (
    await world.sql<{ held: number }[]>`
    select count(*)::int as held from carillon.schedules where held_since is not null`
  )[0]?.held;

/** Creates `count` schedules of a group. */
async function members(count: number, body: object = {}): Promise<void> {
  for (let from = 0; from < count; from += 20) {
    const keys = Array.from(
      { length: Math.min(20, count - from) },
      (_, i) => `member-${String(from + i).padStart(4, "0")}`,
    );
    await Promise.all(keys.map((key) => world.put(key, { when: "every 1m", group: "shop", ...body })));
  }
}

/** Stops after this number of checks of the time. */
function interrupted(after: number) {
  let checks = 0;
  return { most: 1_000_000, timeIsUp: () => ++checks > after };
}

describe.each([
  ["group", shop, { group: "shop" }],
  ["tag", nightly, { tags: ["nightly", "other"] }],
])("a hold of a %s", (scope, label, belonging) => {
  test("a hold of a label keeps its members from starting and no other schedule, until it is released", async () => {
    await world.put("member", { when: "every 1m", ...belonging });
    await world.put("stranger", { when: "every 1m", group: "other", tags: ["nightly2"] });
    await world.tick();
    expect(await pause(label, { reason: "stocktaking" })).toMatchObject({
      done: 1,
      hold: { owner: "ann", reason: "stocktaking", since: at(0), reached: null, members: 1 },
    });
    await world.clock.advance(2 * minute);
    await world.tick();
    await world.work();
    expect(new Set(world.delivered.map(({ key }) => key))).toEqual(new Set(["stranger"]));
    expect(await holdsOf("member")).toEqual([[scope, label.name, "ann"]]);
    expect(await resume(label)).toEqual({ done: 1, hold: null });
    await world.work();
    expect(world.delivered.map(({ key }) => key)).toContain("member");
    expect(await stateOf("member")).toBe("active");
  });

  test("a hold of a label binds schedules that get the label later, and releases those that lose it", async () => {
    await pause(label);
    await world.put("created", { when: "every 1m", ...belonging });
    await world.put("moved", { when: "every 1m" });
    expect(await world.jobs("moved")).not.toEqual([]);
    expect(await world.patch("moved", belonging)).toMatchObject({
      schedule: { state: "paused", version: 2 },
    });
    expect(await world.jobs()).toEqual([]);
    expect(await holdsOf("created")).toEqual([[scope, label.name, "ann"]]);
    expect(await holdsOf("moved")).toEqual([[scope, label.name, "ann"]]);

    await world.patch("moved", { group: "elsewhere", tags: ["other"] });
    expect(await stateOf("moved")).toBe("active");
    expect(await world.jobs("moved")).not.toEqual([]);
    expect(await stateOf("created")).toBe("paused");
    expect(await resume(label)).toMatchObject({ done: 1, hold: null });
    await world.put("late", { when: "every 1m", ...belonging });
    expect(await stateOf("late")).toBe("active");
  });

  test("a hold of a label has one audit entry for the request, and one with the number of members when all are done", async () => {
    for (const key of ["a", "b", "c"]) await world.put(key, { when: "every 1m", ...belonging });
    await pause(label, { reason: "why", owner: "bob" });
    await pause(label, { reason: "why", owner: "bob" });
    await resume(label, { owner: "bob" });
    expect(await audited()).toEqual([
      [`${scope}.paused`, label.name, { owner: "bob", reason: "why", until: null, before: null }],
      [`${scope}.pause-completed`, label.name, { owner: "bob", members: 3 }],
      [`${scope}.resumed`, label.name, { owner: "bob", before: { reason: "why", until: null } }],
      [`${scope}.resume-completed`, label.name, { owner: "bob", members: 3 }],
    ]);
    expect(
      await world.sql`select actor, detail from carillon.audit where subject = 'a' and action = 'schedule.paused'`,
    ).toEqual([{ actor: "ann", detail: { owner: "bob", [scope]: label.name, reason: "why", until: null } }]);
  });
});

describe("several holds", () => {
  beforeEach(() => world.put("member", { when: "every 10m", group: "shop", tags: ["nightly"] }));

  test("one owner's holds of a schedule, of its group and of its tag are three holds, and each is released alone", async () => {
    await world.pause("member");
    await pause(shop);
    await pause(nightly);
    expect(await holdsOf("member")).toHaveLength(3);
    await world.resume("member");
    expect(await holdsOf("member")).toEqual([
      ["group", "shop", "ann"],
      ["tag", "nightly", "ann"],
    ]);
    await resume(shop);
    expect(await stateOf("member")).toBe("paused");
    await resume(nightly);
    expect(await stateOf("member")).toBe("active");
  });

  test("a schedule of a group with holds of two owners runs when both are released", async () => {
    await pause(shop, { owner: "ann" });
    await pause(shop, { owner: "bob" });
    expect(await resume(shop, { owner: "ann" })).toMatchObject({ done: 1 });
    expect(await resume(shop, { owner: "ann" })).toEqual({ done: 0, hold: null });
    expect(await stateOf("member")).toBe("paused");
    await resume(shop, { owner: "bob" });
    expect(await stateOf("member")).toBe("active");
  });

  test("a schedule that moves from one held group to another gets the hold of the new group", async () => {
    await pause(shop);
    await pause({ scope: "group", name: "depot" });
    await world.patch("member", { group: "depot" });
    expect(await holdsOf("member")).toEqual([["group", "depot", "ann"]]);
    await world.clock.advance(15 * minute);
    await world.patch("member", { group: null });
    await world.work();
    // The schedule was held all the time: its missed occurrence runs now.
    expect(world.delivered.map(({ occurrence }) => new Date(occurrence))).toEqual([at(10 * minute)]);
  });

  test("a group has at most 50 holds: the fifty-first owner is refused", async () => {
    for (let owner = 0; owner < 50; owner++) await pause(shop, { owner: `owner-${owner}` });
    await expect(pause(shop, { owner: "one more" })).rejects.toMatchObject({ kind: "conflict" });
    expect(await pause(shop, { owner: "owner-7", reason: "still allowed" })).toMatchObject({ done: 1 });
  });
});

describe("a hold with an end", () => {
  test("a hold with an end ends at its second for all members, those that came later included", async () => {
    await members(5, { when: "every 10s" });
    const until = at(5 * minute);
    await pause(shop, { until });
    await world.put("later", { when: "every 10s", group: "shop" });
    await world.put("moved", { when: "every 10s" });
    await world.patch("moved", { group: "shop" });
    for (let now = 0; now < 5 * minute + 20 * second; now += 5 * second) {
      await world.clock.setNow(at(now));
      if (now % minute === 0) await world.tick();
      await world.work();
      if (now < 5 * minute) expect(world.delivered).toEqual([]);
    }
    const first = new Map<string, string>();
    for (const { key, at: started } of world.delivered) if (!first.has(key)) first.set(key, started);
    expect([...first.values()]).toEqual(Array.from({ length: 7 }, () => until.toISOString()));
    await world.tick();
    expect(await world.sql`select from carillon.shared_holds`).toEqual([]);
    expect(await world.sql`select from carillon.holds`).toEqual([]);
    await world.put("free", { when: "every 10s", group: "shop" });
    expect(await stateOf("free")).toBe("active");
  });

  test("a hold with an end in the past is refused", async () => {
    await expect(pause(shop, { until: at(0) })).rejects.toMatchObject({ kind: "invalid" });
    expect(await world.sql`select from carillon.shared_holds`).toEqual([]);
  });

  test("a hold with an end may be changed: all members follow, and it keeps its start", async () => {
    await members(3);
    await pause(shop, { until: at(hour) });
    await world.clock.advance(minute);
    expect(await pause(shop, { until: at(2 * hour), reason: "longer" })).toMatchObject({
      done: 3,
      hold: { since: at(0), until: at(2 * hour) },
    });
    expect(await pause(shop, { until: at(2 * hour), reason: "longer" })).toMatchObject({ done: 0 });
    expect((await readSchedule(world.sql, "member-0001"))?.holds).toMatchObject([
      { until: at(2 * hour), reason: "longer", since: at(0) },
    ]);
  });
});

describe("many members", () => {
  test("300 members of every kind are held and released", async () => {
    await members(300);
    await world.put("laned", { when: "every 1m", group: "shop", overlap: "skip" });
    await world.put("over", { when: "at 2026-03-02T09:59:30", group: "shop" });
    await world.put("held-already", { when: "every 1m", group: "shop", paused: true });
    expect(await pause(shop)).toMatchObject({ done: 303 });
    expect(await heldCount()).toBe(303);
    await world.clock.advance(3 * minute);
    await world.tick();
    await world.work();
    expect(world.delivered).toEqual([]);
    expect(await resume(shop)).toMatchObject({ done: 303, hold: null });
    expect(await heldCount()).toBe(1);
  });

  test("many members are done in several calls: each continues where the previous one stopped, with its cursor or without", async () => {
    await members(100);
    const first = await pause(shop, {}, { most: 30, timeIsUp: () => false });
    expect(first).toMatchObject({ done: 30, hold: { members: 30 } });
    expect(await heldCount()).toBe(30);
    const second = await pause(shop, { revision: first.unfinished }, { most: 30, timeIsUp: () => false });
    expect(second).toMatchObject({ done: 30, unfinished: first.unfinished });
    const rest = await pause(shop);
    expect(rest).toMatchObject({ done: 40, hold: { members: 100, reached: null } });
    expect(rest).not.toHaveProperty("unfinished");
    expect(await pause(shop, { revision: first.unfinished })).toMatchObject({ done: 0 });

    const released = await resume(shop, {}, { most: 30, timeIsUp: () => false });
    expect(released).toMatchObject({ done: 30, hold: { releasedAt: at(0) } });
    expect(await resume(shop, { revision: released.unfinished })).toEqual({ done: 70, hold: null });
  });

  test("the tick changes the members that a pause or a resume has left, if no further call does", async () => {
    await members(60);
    expect(await pause(shop, {}, { most: 10, timeIsUp: () => false })).toMatchObject({ done: 10 });
    await world.tick();
    expect(await heldCount()).toBe(60);
    expect(await resume(shop, {}, interrupted(2))).toHaveProperty("unfinished");
    await world.tick();
    expect(await heldCount()).toBe(0);
    expect(await audited()).toContainEqual(["group.resume-completed", "shop", { owner: "ann", members: 60 }]);
  });

  test("a cursor of an earlier request is refused and changes nothing", async () => {
    await members(20);
    const paused = await pause(shop, {}, { most: 5, timeIsUp: () => false });
    await expect(pause(shop, { revision: paused.unfinished, reason: "other" })).rejects.toMatchObject({
      kind: "conflict",
    });
    await expect(resume(shop, { revision: paused.unfinished })).rejects.toMatchObject({ kind: "conflict" });
    const released = await resume(shop, {}, { most: 2, timeIsUp: () => false });
    await expect(pause(shop, { revision: paused.unfinished })).rejects.toMatchObject({ kind: "conflict" });
    expect(await heldCount()).toBe(3);
    expect(await resume(shop, { revision: released.unfinished })).toEqual({ done: 3, hold: null });
  });

  test("a pause during a release reverses it, and a release during a pause too", async () => {
    await members(40);
    await pause(shop);
    await resume(shop, {}, { most: 15, timeIsUp: () => false });
    expect(await pause(shop, { reason: "again" })).toMatchObject({ done: 40, hold: { releasedAt: null } });
    expect(await heldCount()).toBe(40);
    await pause(shop, { reason: "and again" }, { most: 15, timeIsUp: () => false });
    await resume(shop);
    expect(await heldCount()).toBe(0);
    expect(await world.sql`select from carillon.holds`).toEqual([]);
  });

  test("a pause whose connection is killed halfway is completed by the same call again", async () => {
    await members(250);
    const killed: number[] = [];
    const own = connectThrough(world.databaseUrl, killedAtCommit(3, killed), { applicationName });
    await expect(
      pauseLabel({ sql: own, queue: world.queue }, { label: shop, caller: { name: "ann" } }, unbounded),
    ).rejects.toThrow(ConnectionLost);
    await own.end();
    expect(killed).toHaveLength(1);
    const before = (await heldCount()) ?? 0;
    expect(before).toBeGreaterThan(0);
    expect(before).toBeLessThan(250);
    expect(await pause(shop)).toMatchObject({ done: 250 - before, hold: { members: 250 } });
    expect(await heldCount()).toBe(250);
  });
});

/**
 * Kills the server process of the connection that is about to send this commit, and sends the
 * commit when the process is gone. The first commit is that of the request.
 */
function killedAtCommit(commit: number, killed: number[]): WrapLine {
  let commits = 0;
  return (line) => ({
    ...line,
    run: (statement) => {
      if (textOf(statement).trim() !== "commit" || ++commits !== commit) return line.run(statement);
      kill().then(
        () => line.run(statement),
        (error: unknown) => statement.reject(error instanceof Error ? error : new Error(String(error))),
      );
    },
  });

  async function kill(): Promise<void> {
    const ended = await world.sql<{ pid: number; gone: boolean }[]>`
      select pid, pg_terminate_backend(pid, 10000) as gone from pg_stat_activity
      where datname = current_database() and application_name = ${applicationName}`;
    killed.push(...ended.flatMap(({ pid, gone }) => (gone ? [pid] : [])));
  }
}

describe("concurrent requests", () => {
  test("a pause misses no member and a resume leaves none held, while creates and edits run concurrently", async () => {
    const expectAll = async (expected: "held" | "free") => {
      const wrong = await world.sql`
        select s.key from carillon.schedules s
        where s.deleted_at is null and ((s.group_key is not distinct from 'shop' and ${expected === "held"}) <> (s.held_since is not null)
          or (s.held_since is not null) <> exists (select from carillon.holds where schedule_id = s.id))`;
      expect(wrong).toEqual([]);
    };
    await world.put("comes", { when: "every 1m" });
    await world.put("goes", { when: "every 1m", group: "shop" });
    for (let round = 0; round < 50; round++) {
      const inward = round % 2 === 0;
      const others = () => [
        world.put(`new-${round}`, { when: "every 1m", group: "shop" }),
        world.patch("comes", { group: inward ? "shop" : null }),
        world.patch("goes", { group: inward ? null : "shop" }),
      ];
      const first = round % 4 < 2;
      await Promise.all(first ? [pause(shop), ...others()] : [...others(), pause(shop)]);
      await expectAll("held");
      await Promise.all(first ? [...others(), resume(shop)] : [resume(shop), ...others()]);
      await expectAll("free");
      await world.remove(`new-${round}`);
    }
  }, 120_000);

  test("two concurrent pauses and a tick hold every member once", async () => {
    await members(80);
    await Promise.all([pause(shop), pause(shop), world.tick()]);
    expect(await heldCount()).toBe(80);
    expect(await audited()).toEqual([
      ["group.paused", "shop", { owner: "ann", reason: null, until: null, before: null }],
      ["group.pause-completed", "shop", { owner: "ann", members: 80 }],
    ]);
    expect(await world.sql`select from carillon.schedules where version > 2`).toEqual([]);
  });
});

describe("a label is read", () => {
  test("a label is read with its holds and a page of its schedules, and is unknown without either", async () => {
    await members(3);
    await pause(shop, { reason: "why" });
    expect(await readLabel(world.sql, shop, { limit: 2 })).toMatchObject({
      holds: [{ owner: "ann", reason: "why" }],
      schedules: [{ key: "member-0000" }, { key: "member-0001" }],
      next: "member-0001",
    });
    expect(await readLabel(world.sql, { scope: "group", name: "nobody's" }, { limit: 2 })).toBeNull();
    await pause({ scope: "group", name: "empty" });
    expect(await readLabel(world.sql, { scope: "group", name: "empty" }, { limit: 2 })).toMatchObject({
      holds: [{ owner: "ann" }],
      schedules: [],
    });
  });
});
