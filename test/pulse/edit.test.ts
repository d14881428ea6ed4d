import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { applyOperations } from "../../lib/batch/apply-operations.ts";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import type { Operation } from "../../lib/batch/operation.ts";
import { restoreVersion } from "../../lib/edit/restore.ts";
import { explain } from "../../lib/explain/explain.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { parseScheduleBody } from "../../lib/schedule/shape/schedule-shape.ts";
import { envelope } from "../../lib/target/envelope.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { at, minute, second } from "../support/instants.ts";
import { beatsOf, caller, emptied, pulse, pulseRow, pulseRows, unbounded, upcomingOf } from "./pulse-rows.ts";

let world: Carillon;

beforeAll(async () => {
  world = await carillon();
});
beforeEach(() => emptied(world));
afterAll(() => world.stop());

const deps = () => ({ sql: world.sql, queue: world.queue });
const now = () => world.clock.now();

/** Expects that the row gives the same occurrences as the schedule. */
async function expectAgreement(key: string): Promise<void> {
  expect(beatsOf(await pulseRow(world.sql, key), now(), 3)).toEqual(await upcomingOf(world.sql, key, 3));
}

async function counts(): Promise<{ plans: number; jobs: number }> {
  const [row] = await world.sql<{ plans: number; jobs: number }[]>`
    select (select count(*)::int from carillon.plan) + (select count(*)::int from carillon.plan_far) as plans,
      (select count(*)::int from carillon.jobs) as jobs`;
  return row ?? { plans: -1, jobs: -1 };
}

/** Sets the state that a tick leaves if it has found no pulse up to this instant. */
const pulsedTo = (to: Date) => world.sql`update carillon.shards set pulsed_to = ${to}`;
const parcelSeconds = async () =>
  (
    await world.sql<{ at: Date; ready: Date; queue: string }[]>`
      select pulse_at as at, ready_at as ready, queue from carillon.parcels where pulse_at is not null order by pulse_at, shard`
  ).map(({ at: due, ready, queue }) => {
    expect([due, queue]).toEqual([ready, "fast"]);
    return due.getTime();
  });

describe("a pulse", () => {
  test.each([
    [{}],
    [{ when: "every 1s" }],
    [{ when: "every 24h", spread: "24h" }],
    [{ when: "rate(5 minutes)" }],
    [{ spread: "0s" }],
    [{ spread: "3m" }],
    [{ spread: "1500ms" }],
    [{ startsAt: "2026-03-02T11:00:00.250Z" }],
    [{ startsAt: "2026-03-01T00:00:00Z", when: "every 7s" }],
    [{ endsAt: "2026-03-02T10:01:30.001Z", spread: "0s" }],
  ])("a pulse beats at the occurrences of its schedule: %j", async (body) => {
    await world.clock.advance(123);
    await world.put("a", { ...pulse, ...body });
    await expectAgreement("a");
  });

  test("a pulse is spread by default over its interval, within a minute", async () => {
    const spreadOf = async (body: object) =>
      (await world.put("a", { ...pulse, ...body })).schedule.body.spread;
    expect(await spreadOf({ when: "every 7s" })).toBe("7s");
    expect(await spreadOf({ when: "every 3h" })).toBe("1m");
    expect(await spreadOf({ spread: "0s" })).toBe("0s");
    const puts = Array.from({ length: 200 }, (_, n): Operation => {
      const body = parseScheduleBody({ ...pulse, when: "every 60s" });
      return { kind: "put", key: `many-${n}`, caller, body };
    });
    await applyOperations(deps(), puts);
    const offsets = (await pulseRows(world.sql)).map(({ offsetS }) => offsetS);
    expect(new Set(offsets).size).toBeGreaterThan(50);
  });

  test("a pulse has neither plan rows nor jobs after ticks", async () => {
    await world.put("a", pulse);
    await world.tick();
    await world.clock.advance(5 * minute);
    await world.tick();
    expect(await counts()).toEqual({ plans: 0, jobs: 0 });
  });

  test("a pulse has the envelope of a job, except for the members that a beat puts in front", async () => {
    const key = 'it\'s "quoted" \uFFFF';
    const payload = { a: [1, -0.5e-7, 1e21, null, true], text: "\u001e \uFFFE ☃", deep: { b: {} } };
    await world.put(key, { ...pulse, payload });
    const row = await pulseRow(world.sql, key);
    const [beat] = beatsOf(row, now(), 1);
    const job = claimedJob(
      { queue: "demo" },
      { scheduleId: row.id, key, payload, occurrence: new Date(Number(beat?.id.split("-")[1])) },
    );
    const whole = envelope({ ...job, dueAt: new Date(beat?.due ?? 0) }, now());
    const times = {
      id: beat?.id,
      time: new Date(beat?.due ?? 0).toISOString(),
      generatedat: now().toISOString(),
    };
    const beaten = `${JSON.stringify(times).slice(0, -1)},${row.rest}`;
    expect(JSON.parse(beaten)).toEqual(JSON.parse(whole));
    // The separator of the rows of a page, and characters that SQS does not take.
    for (const character of ["\u001e", "\uFFFE", "\uFFFF"]) expect(row.rest).not.toContain(character);
  });

  test("a pulse shows its next occurrences, and that it has ended", async () => {
    await world.put("a", { ...pulse, spread: "0s", endsAt: at(25 * second).toISOString() });
    const read = () => readSchedule(world.sql, "a");
    expect(await read()).toMatchObject({ state: "active", nextAt: at(10 * second), lastJob: null });
    await world.clock.advance(20 * second);
    expect(await read()).toMatchObject({ state: "ended", nextAt: null });
    expect(beatsOf(await pulseRow(world.sql, "a"), at(0), 9).map(({ due }) => due)).toEqual([
      at(10 * second).getTime(),
      at(20 * second).getTime(),
    ]);
  });
});

describe("changes of a pulse", () => {
  test("a patch of the payload applies to late pulses too, and a patch of the interval to later ones only", async () => {
    await world.put("a", pulse);
    const before = await pulseRow(world.sql, "a");
    await world.clock.advance(30 * second);
    await world.patch("a", { payload: { n: 2 } });
    const patched = await pulseRow(world.sql, "a");
    // The start stays, so pulses that are late now are sent with the new payload.
    expect({ ...patched, rest: before.rest }).toEqual(before);
    expect(patched.rest).toContain('"data":{"n": 2}');
    await world.patch("a", { when: "every 25s" });
    expect((await pulseRow(world.sql, "a")).startsS).toBeGreaterThan(now().getTime() / 1_000);
    await expectAgreement("a");
    await world.patch("a", { spread: "20s" });
    await expectAgreement("a");
    await world.patch("a", { startsAt: at(-minute).toISOString() });
    expect((await pulseRow(world.sql, "a")).startsS).toBeGreaterThan(now().getTime() / 1_000);
    await expectAgreement("a");
    await world.patch("a", { endsAt: at(45 * second).toISOString() });
    await expectAgreement("a");
  });

  test("a pulse that had ended and is continued begins after the change", async () => {
    await world.put("a", { ...pulse, spread: "0s", endsAt: at(15 * second).toISOString() });
    await world.clock.advance(minute);
    await world.patch("a", { endsAt: null });
    expect((await pulseRow(world.sql, "a")).startsS).toBeGreaterThan(at(minute).getTime() / 1_000);
    await expectAgreement("a");
  });

  test("a hold stops pulses that are late when it begins, and those due during it", async () => {
    await world.put("a", { ...pulse, spread: "0s" });
    await world.clock.advance(35 * second);
    await world.pause("a");
    expect(await pulseRow(world.sql, "a")).toMatchObject({ startsS: null });
    expect((await readSchedule(world.sql, "a"))?.state).toBe("paused");
    await world.patch("a", { payload: 1 });
    expect(await pulseRow(world.sql, "a")).toMatchObject({ startsS: null });
    await world.clock.advance(20 * second);
    await world.resume("a");
    expect(await pulseRow(world.sql, "a")).toMatchObject({ startsS: at(56 * second).getTime() / 1_000 });
    await expectAgreement("a");
    expect(await counts()).toEqual({ plans: 0, jobs: 0 });
  });

  test("a hold of a pulse ends at its time, without an edit", async () => {
    await world.put("a", { ...pulse, spread: "0s" });
    await world.pause("a", { until: at(45 * second) });
    const held = await pulseRow(world.sql, "a");
    expect(held.startsS).toBe(at(45 * second).getTime() / 1_000);
    await world.clock.advance(minute);
    await world.tick();
    expect(await readSchedule(world.sql, "a")).toMatchObject({ state: "active", holds: [] });
    expect(await pulseRow(world.sql, "a")).toEqual(held);
    await expectAgreement("a");
    await world.patch("a", { payload: 1 });
    // The start stays, so pulses that were due after the hold and are late now are still sent.
    expect((await pulseRow(world.sql, "a")).startsS).toBe(held.startsS);
    const [passed] = await world.sql<{ n: number }[]>`select count(*)::int as n from carillon.passed_over`;
    expect([passed?.n, await counts()]).toEqual([0, { plans: 0, jobs: 0 }]);
  });

  test("a hold of a group or a tag applies to its pulses, and to those that join it later", async () => {
    await world.put("a", { ...pulse, group: "shop" });
    await world.put("b", { ...pulse, tags: ["nightly"] });
    const startOf = async (key: string) => (await pulseRow(world.sql, key)).startsS;
    for (const label of [
      { scope: "group", name: "shop" },
      { scope: "tag", name: "nightly" },
    ] as const)
      await pauseLabel(deps(), { label, caller }, unbounded);
    await world.put("c", { ...pulse, group: "shop" });
    await world.put("d", pulse);
    await world.patch("d", { tags: ["nightly"] });
    for (const key of ["a", "b", "c", "d"]) expect([key, await startOf(key)]).toEqual([key, null]);
    await world.clock.advance(minute);
    await resumeLabel(deps(), { label: { scope: "group", name: "shop" }, caller }, unbounded);
    await resumeLabel(deps(), { label: { scope: "tag", name: "nightly" }, caller }, unbounded);
    for (const key of ["a", "b", "c", "d"]) {
      expect(await startOf(key)).toBeGreaterThan(at(minute).getTime() / 1_000);
      await expectAgreement(key);
    }
    await world.put("e", { ...pulse, paused: true });
    expect(await startOf("e")).toBeNull();
  });

  test("a delete removes a pulse's row, and so does the purge of its schedule", async () => {
    await world.put("a", pulse);
    await world.put("b", pulse);
    await world.remove("a");
    expect((await pulseRows(world.sql)).map(({ key }) => key)).toEqual(["b"]);
    await world.sql`delete from carillon.schedule_versions where schedule_id = (select id from carillon.schedules where key = 'b')`;
    await world.sql`delete from carillon.schedules where key = 'b'`;
    expect(await world.sql`select * from carillon.pulses`).toEqual([]);
  });

  test("changes of pulses in one batch have the same effect as one by one", async () => {
    const body = (more: object) => parseScheduleBody({ ...pulse, ...more });
    const put = (key: string, more: object): Operation => ({ kind: "put", key, caller, body: body(more) });
    await applyOperations(
      deps(),
      ["a", "b", "c", "d", "e"].map((key) => put(key, {})),
    );
    await world.clock.advance(minute);
    const applied = await applyOperations(deps(), [
      { kind: "patch", key: "a", caller, patch: { payload: 5 } },
      { kind: "patch", key: "b", caller, patch: { when: "every 17s", spread: "4m" } },
      { kind: "delete", key: "c", caller },
      { kind: "pause", key: "d", caller },
      { kind: "patch", key: "e", caller, patch: { delivery: "ledger" } },
      { kind: "pause", key: "a", caller },
      { kind: "resume", key: "a", caller },
      put("f", { when: "every 1s" }),
    ]);
    expect(applied.map(({ change }) => change)).not.toContain("refused");
    expect((await pulseRows(world.sql)).map(({ key, startsS }) => [key, startsS === null])).toEqual([
      ["a", false],
      ["b", false],
      ["d", true],
      ["f", false],
    ]);
    for (const key of ["a", "b", "f"]) await expectAgreement(key);
    await applyOperations(deps(), [{ kind: "resume", key: "d", caller }]);
    await expectAgreement("d");
  });

  test("a schedule that an older release writes is not a pulse", async () => {
    await world.put("a", pulse);
    await world.sql`
      with raised as (update carillon.schedules set version = 2, spec_version = 2 returning id)
      insert into carillon.schedule_versions (schedule_id, version, change, changed_at, changed_by, spec_version, held, first_at, every_ms, body, target, payload)
      select id, 2, 'replaced', carillon.clock(), 'old', 2, false, carillon.clock(), 10000, '{"when": "every 10s"}', '{"queue": "demo"}', 'null' from raised`;
    expect(await pulseRows(world.sql)).toEqual([]);
  });
});

describe("a schedule that becomes a pulse, and back", () => {
  test("a schedule that becomes a pulse has its jobs that are not due withdrawn, and gets its row", async () => {
    await world.put("a", { when: "every 10s" });
    await world.tick();
    expect((await counts()).jobs).toBeGreaterThan(10);
    await world.clock.advance(25 * second);
    await world.patch("a", { delivery: "pulse" });
    expect((await world.jobs("a")).map(({ occurrence }) => occurrence)).toEqual([
      at(10 * second),
      at(20 * second),
    ]);
    await expectAgreement("a");
    await world.clock.advance(minute);
    await world.tick();
    expect((await world.jobs("a")).length).toBe(2);
  });

  test("a pulse that becomes a schedule is planned again, and its row is gone", async () => {
    await world.tick();
    await world.put("a", pulse);
    await world.clock.advance(25 * second);
    await world.patch("a", { delivery: "ledger", spread: "0s" });
    expect(await pulseRows(world.sql)).toEqual([]);
    expect((await world.jobs("a"))[0]?.dueAt).toEqual(at(35 * second));
    await restoreVersion(deps(), { key: "a", caller, version: 1 }, () => {});
    expect(await world.jobs("a")).toEqual([]);
    await expectAgreement("a");
  });

  test("a schedule becomes a pulse and back also while it is held", async () => {
    await world.put("a", pulse);
    await world.pause("a");
    await world.patch("a", { delivery: "ledger" });
    await world.patch("a", { delivery: "pulse" });
    expect((await pulseRow(world.sql, "a")).startsS).toBeNull();
    await world.resume("a");
    await expectAgreement("a");
  });
});

describe("seconds whose parcels the ticks have made", () => {
  test("a new pulse gets parcels for its seconds that the ticks have passed already, and they are sent", async () => {
    await pulsedTo(at(45 * second));
    await world.put("a", { ...pulse, spread: "0s" });
    const seconds = [10, 20, 30, 40].map((s) => at(s * second).getTime());
    expect(await parcelSeconds()).toEqual(seconds);
    expect(world.queue.messages.map(({ delaySeconds }) => delaySeconds)).toEqual([9, 19, 29, 39]);
    // Other shards have their own parcels.
    await world.put("b", { ...pulse, spread: "0s" });
    expect(await parcelSeconds()).toEqual(seconds.flatMap((s) => [s, s]));
    await world.put("c", { ...pulse, spread: "0s", paused: true });
    await world.patch("a", { payload: 1 });
    expect((await parcelSeconds()).length).toBe(8);
  });

  test("an edit of a pulse makes no parcel twice, and none for a second in the past", async () => {
    await world.put("a", { ...pulse, spread: "0s" });
    await world.clock.advance(25 * second);
    await pulsedTo(at(41 * second));
    await world.pause("a");
    expect(await parcelSeconds()).toEqual([]);
    for (let times = 0; times < 2; times += 1) {
      await world.resume("a");
      expect(await parcelSeconds()).toEqual([at(30 * second).getTime(), at(40 * second).getTime()]);
      await world.pause("a", { until: at(35 * second) });
    }
  });

  test("one parcel is made for all pulses of a second, however many are made at once", async () => {
    await pulsedTo(at(3 * minute));
    const puts = Array.from({ length: 500 }, (_, n): Operation => {
      const body = parseScheduleBody({ ...pulse, when: "every 1m" });
      return { kind: "put", key: `many-${n}`, caller, body };
    });
    await Promise.all([
      applyOperations(deps(), puts.slice(0, 250)),
      applyOperations(deps(), puts.slice(250)),
    ]);
    const rows = await pulseRows(world.sql);
    const due = new Set(
      rows.flatMap((row) =>
        beatsOf(row, now(), 3)
          .filter((beat) => beat.due <= at(3 * minute).getTime())
          .map((beat) => `${row.shard} ${beat.due}`),
      ),
    );
    const made = await world.sql<{ place: string }[]>`
      select shard || ' ' || (extract(epoch from pulse_at) * 1000)::bigint as place from carillon.parcels`;
    expect(made.map(({ place }) => place).sort()).toEqual([...due].sort());
  });
});

test("a pulse keeps its team while its cadence goes on, and takes that of its schedule with another cadence", async () => {
  const teams = async () =>
    (await world.sql`select team_id from carillon.pulses`).map((row) => row["team_id"]);
  await world.put("a", pulse);
  await world.sql`update carillon.schedules set team_id = 3`;
  // A second is sent in parts, one for each team: a pulse that changed its part could be left out.
  await world.patch("a", { payload: 1 });
  expect(await teams()).toEqual([0]);
  await world.patch("a", { when: "every 20s" });
  expect(await teams()).toEqual([3]);
});

describe("explain of a pulse", () => {
  const told = async (due: number) => {
    const { outcome, reason, sentence } = await explain(world.sql, { key: "a", at: at(due) });
    return [outcome, reason, sentence];
  };
  const pass = (from: number, to: number, reason: string, more: object = {}) =>
    world.sql`
      insert into carillon.pulses_passed ${world.sql({
        from_at: at(from),
        to_at: at(to),
        noted_at: at(to + minute),
        shard: 1,
        reason,
        ...more,
      })}`;

  test("explain computes whether a pulse is due at an instant, and says that nothing is written of it", async () => {
    await world.put("a", { ...pulse, spread: "0s" });
    expect(await told(10 * second)).toEqual(["planned", undefined, expect.stringContaining("Is planned")]);
    expect((await told(12 * second))[0]).toBe("not-an-occurrence");
    await world.clock.advance(30 * second);
    expect((await told(20 * second))[0]).toBe("not-planned-yet");
    await pulsedTo(at(30 * second));
    expect(await told(20 * second)).toEqual([
      "unrecorded",
      undefined,
      expect.stringContaining("leaves no record"),
    ]);
  });

  test("explain names holds and passed-over pulses", async () => {
    await world.put("a", { ...pulse, spread: "0s" });
    await pulsedTo(at(10 * minute));
    await world.clock.advance(5 * second);
    await world.pause("a");
    await world.clock.advance(30 * second);
    await world.resume("a");
    await world.clock.advance(8 * minute);
    expect(await told(20 * second)).toEqual([
      "skipped",
      "paused",
      expect.stringContaining("was held by ann"),
    ]);
    const [row] = await world.sql<{ target: number; shard: number }[]>`
      select target_id as target, shard from carillon.pulses`;
    await pass(minute, 2 * minute, "missed", { shard: row?.shard });
    await pass(3 * minute, 3 * minute, "failed", { shard: row?.shard, target_id: row?.target, count: 7 });
    await pass(4 * minute, 4 * minute, "failed", {
      shard: row?.shard,
      target_id: (row?.target ?? 0) + 1,
      count: 7,
    });
    expect(await told(70 * second)).toEqual([
      "skipped",
      "missed",
      expect.stringContaining("did not go: all pulses of its shard"),
    ]);
    expect(await told(3 * minute)).toEqual([
      "skipped",
      "failed",
      expect.stringContaining("may not have gone: 7"),
    ]);
    expect((await told(4 * minute))[0]).toBe("unrecorded");
    await pass(5 * minute, 5 * minute, "crashed", { shard: row?.shard, team_id: 7 });
    expect((await told(5 * minute))[0]).toBe("unrecorded");
    await pass(5 * minute, 5 * minute, "crashed", { shard: row?.shard, team_id: 0 });
    expect(await told(5 * minute)).toEqual([
      "skipped",
      "crashed",
      expect.stringContaining("did not go: all pulses of its team in its shard"),
    ]);
  });

  test("a pulse with `deleteOnEnd` is deleted only when its last beat can no longer be tried", async () => {
    const endsAt = at(25 * second).toISOString();
    await world.put("a", { ...pulse, spread: "0s", endsAt, deleteOnEnd: true });
    await world.clock.advance(5 * minute);
    await world.tick();
    expect((await readSchedule(world.sql, "a"))?.state).toBe("ended");
    await world.clock.advance(15 * minute);
    await world.tick();
    expect(await readSchedule(world.sql, "a")).toBeNull();
    expect(await pulseRows(world.sql)).toEqual([]);
  });
});
