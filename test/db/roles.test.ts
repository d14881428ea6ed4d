import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { pauseLabel, resumeLabel } from "../../lib/batch/label-holds.ts";
import type { Sql } from "../../lib/db/connect.ts";
import { jobsOf } from "../../lib/history/job-history.ts";
import { nextOccurrences } from "../../lib/history/next-occurrences.ts";
import { readSchedule } from "../../lib/history/read-schedule.ts";
import { listSchedules } from "../../lib/history/search-schedules.ts";
import { readJob } from "../../lib/job/read-job.ts";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { failed } from "../../lib/target/delivery.ts";
import { findToken } from "../../lib/token/token.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, day, hour, minute, second } from "../support/instants.ts";
import { functionRoles } from "../support/role-logins.ts";

let world: Carillon;
let roles: { tick: Sql; worker: Sql; api: Sql };

beforeAll(async () => {
  world = await carillon({
    roles: async (owner, url) => {
      roles = await functionRoles(owner, url);
      return roles;
    },
  });
});

afterAll(() => world.stop());

describe("with only its own rights", () => {
  test("with only its own rights, each function can do its part: plan, fire, send, claim, fail, retry, settle", async () => {
    await world.tick();
    await world.put("soon", { when: "in 10s", retry: { attempts: 2, base: "1s", max: "1s" } });
    await world.put("often", { when: "*/10 * * * *" });
    await world.put("dies", { when: "every 1h", retry: { attempts: 1 } });
    world.outcome = ({ key, attempt }) => (key === "dies" || attempt === 0 ? failed("no") : { kind: "done" });
    for (let passed = 0; passed <= 62; passed += 2) {
      await world.clock.setNow(at(passed * minute));
      await world.tick();
      await world.work();
      await world.clock.advance(10 * second);
      await world.work();
      await world.clock.advance(10 * second);
      await world.work();
    }
    expect((await world.jobs("soon")).map(({ state, attempt }) => [state, attempt])).toEqual([
      ["succeeded", 2],
    ]);
    expect((await world.jobs("often")).filter(({ state }) => state === "succeeded")).toHaveLength(6);
    expect((await world.jobs("dies")).map(({ state }) => state)).toEqual(["dead"]);
  });

  test("with only its own rights, the API can edit, hold, delete and read", async () => {
    await world.tick();
    await world.put("edited", { when: "every 1m" });
    await world.tick();
    await world.clock.advance(90 * second);
    await world.patch("edited", { when: "* * * * *", payload: 1 });
    await world.pause("edited");
    await world.clock.advance(day);
    await world.resume("edited");
    await world.put("edited", { when: "0 0 1 1 *" });
    const schedule = await readSchedule(roles.api, "edited");
    expect(schedule).toMatchObject({ version: 5 });
    expect((await listSchedules(roles.api, { limit: 10 })).items.length).toBeGreaterThan(0);
    expect((await nextOccurrences(roles.api, { key: "edited", n: 2 })).occurrences).toHaveLength(2);
    const [job] = (await jobsOf(roles.api, { id: schedule?.id ?? "" }, { limit: 5 })).items;
    expect(await readJob(roles.api, job?.id ?? "")).toMatchObject({ key: "edited", payload: 1 });
    await world.remove("edited");
    expect(await findToken(roles.api, "unknown")).toBeNull();
  });

  test("with only its own rights, the tick can sweep after a crash, end holds, move far rows near, and drop days", async () => {
    await world.put("crashes", { when: "in 1m" });
    await world.put("far", { when: "in 10d" });
    await world.put("held", { when: "every 1h" });
    await world.pause("held", { until: new Date(world.clock.now().getTime() + hour) });
    await world.tick();
    await world.clock.advance(minute);
    const [job] = await world.jobs("crashes");
    expect(await claimParcel(roles.worker, job?.parcelId ?? "", second)).toMatchObject({
      outcome: "claimed",
    });
    await world.clock.advance(2 * minute);
    await world.tick();
    expect(await world.jobs("crashes")).toMatchObject([{ attempt: 1, state: "waiting" }]);
    await world.clock.advance(10 * day);
    world.outcome = () => ({ kind: "done" });
    await world.tick({ retentionDays: 2 });
    await world.work();
    expect(await world.jobs("far")).toMatchObject([{ state: "succeeded" }]);
    expect(await readSchedule(roles.api, "held")).toMatchObject({ state: "active" });
    await world.tick({ retentionDays: 2 });
    expect(world.log.lines.map(({ event }) => event)).toContain("tick.days-dropped");
  });
});

describe("with a hold of a group and only their own rights", () => {
  test("with only their own rights, the API begins the pause and the resume of a group, and the tick finishes both", async () => {
    const label = { scope: "group", name: "held-together" } as const;
    const params = { label, caller: { name: "ann" } };
    const deps = { sql: roles.api, queue: world.queue };
    const states = async () =>
      (await listSchedules(roles.api, { group: label.name, limit: 10 })).items.map(({ state }) => state);
    for (const [key, overlap] of [
      ["plain", "allow"],
      ["laned", "queue"],
      ["last", "allow"],
    ])
      await world.put(`together-${key}`, { when: "every 1m", group: label.name, overlap });
    expect(await pauseLabel(deps, params, { most: 1, timeIsUp: () => false })).toHaveProperty("unfinished");
    await world.tick();
    expect(await states()).toEqual(["paused", "paused", "paused"]);
    await world.clock.advance(10 * minute);
    expect(await resumeLabel(deps, params, { most: 1, timeIsUp: () => false })).toHaveProperty("unfinished");
    await world.tick();
    expect(await states()).toEqual(["active", "active", "active"]);
    await pauseLabel(deps, { ...params, until: new Date(world.clock.now().getTime() + hour) });
    await world.clock.advance(2 * hour);
    await world.tick();
    expect(await world.sql`select from carillon.shared_holds`).toEqual([]);
  });
});

describe("a statement beyond a function's rights is refused", () => {
  const refused: [keyof typeof roles, string][] = [
    ["tick", "select from carillon.tokens"],
    ["tick", "create table carillon.mine (n int)"],
    ["tick", "drop table carillon.jobs"],
    ["tick", "alter table carillon.plan detach partition carillon.plan_20260302"],
    ["tick", "update carillon.plan set due_at = due_at"],
    ["tick", "delete from carillon.plan"],
    ["tick", "delete from carillon.schedules"],
    ["tick", "update carillon.schedule_versions set payload = null"],
    ["tick", "select carillon.claim_parcel(1, 1)"],
    ["tick", "select carillon.claim_parcels('{1}', 1)"],
    ["tick", "select carillon.claim_company(1, 1, 1, 1)"],
    ["tick", "select carillon.move_some(1, 1, 1)"],
    ["tick", "select carillon.settle_parcels('{1}', '{1}', '{}')"],
    ["worker", "select from carillon.schedules"],
    ["worker", "select from carillon.schedule_versions"],
    ["worker", "select from carillon.tokens"],
    ["worker", "select from carillon.jobs"],
    ["worker", "update carillon.jobs set state = 'succeeded'"],
    ["worker", "update carillon.parcels set fence = 0"],
    ["worker", "delete from carillon.parcels"],
    ["worker", "select carillon.attach_days('2026-01-01', '2026-01-01')"],
    ["worker", "select carillon.drop_day_of_jobs('2026-03-02', '1 day', false)"],
    ["api", "select carillon.drop_day_of_jobs('2026-03-02', '1 day', false)"],
    ["api", "select carillon.claim_parcel(1, 1)"],
    ["api", "select carillon.claim_parcels('{1}', 1)"],
    ["api", "select carillon.claim_company(1, 1, 1, 1)"],
    ["worker", "select carillon.write_successes('{1}', null, null, null, null, null, null)"],
    ["api", "select carillon.set_aside(p, carillon.clock(), null) from carillon.parcels p"],
    ["api", "delete from carillon.schedules"],
    ["api", "delete from carillon.plan"],
    ["api", "update carillon.schedule_versions set payload = null"],
    ["api", "update carillon.shards set watermark_at = carillon.clock()"],
    ["api", "update carillon.attempts set error = null"],
    ["api", "drop table carillon.jobs"],
    ["api", "insert into carillon.migrations (number, name) values (99, 'x')"],
    ...(["tick", "worker", "api"] as const).flatMap((role): [keyof typeof roles, string][] => [
      [role, "update carillon.audit set actor = 'another actor'"],
      [role, "delete from carillon.audit"],
      [role, "truncate carillon.audit"],
    ]),
  ];

  test.each(refused)("%s: %s", async (role, statement) => {
    await expect(roles[role].unsafe(statement)).rejects.toMatchObject({ code: "42501" });
  });
});
