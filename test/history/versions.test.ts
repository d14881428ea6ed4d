import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { pauseLabel } from "../../lib/batch/label-holds.ts";
import { restoreVersion, tryRestore } from "../../lib/edit/restore.ts";
import { versionsOf } from "../../lib/history/versions.ts";
import { Refusal } from "../../lib/refusal.ts";
import type { Webhook } from "../../lib/schedule/shape/webhook-credentials.ts";
import { openedWebhook } from "../sealing/opened-webhook.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, hour, minute } from "../support/instants.ts";

let world: Carillon;

beforeEach(async () => {
  world = await carillon();
  await world.tick();
});

afterEach(() => world.stop());

const versions = async (key: string, limit = 50, before?: number) =>
  versionsOf(world.sql, { key, limit, before });

const restore = (key: string, version: number, ifMatch?: number[]) =>
  restoreVersion(
    { sql: world.sql, queue: world.queue },
    { key, version, caller: { name: "rita" }, ifMatch },
    () => {},
  );

const coming = async (key: string, version: number) =>
  (await restore(key, version)).changes.after.map((instant) => instant.toISOString().slice(11, 16));

describe("versions", () => {
  test("Versions are listed newest first with author, time and changes, and pauses with their reasons", async () => {
    await world.put("k", { when: "every 5m", payload: { n: 1, deep: { a: [1] } } });
    await world.clock.advance(minute);
    await world.patch("k", { when: "every 7m", tags: ["x"], payload: { n: 2 } }, "bob");
    await world.pause("k", { reason: "maintenance", until: at(hour) });
    await world.resume("k");
    await world.patch("k", { target: { queue: "other" } });
    const { items, next } = await versions("k");
    expect(next).toBeUndefined();
    expect(items).toMatchObject([
      {
        version: 5,
        change: "patched",
        changes: [{ path: "target.queue", before: "demo", after: "other" }],
      },
      { version: 4, change: "resumed", detail: { owner: "ann" }, changes: [] },
      {
        version: 3,
        change: "paused",
        detail: { owner: "ann", reason: "maintenance", until: "2026-03-02T11:00:00.000Z" },
        changes: [],
      },
      {
        version: 2,
        change: "patched",
        at: at(minute),
        by: "bob",
        spec: { when: "every 7m", timezone: "UTC", tags: ["x"], target: { queue: "demo" } },
        changes: [
          { path: "when", before: "every 5m", after: "every 7m" },
          { path: "tags", before: [], after: ["x"] },
          { path: "payload.n", before: 1, after: 2 },
        ],
      },
      { version: 1, change: "created", at: at(0), by: "ann", spec: { when: "every 5m" }, changes: [] },
    ]);
    expect(items.filter(({ spec }) => spec !== undefined).map(({ version }) => version)).toEqual([5, 2, 1]);
    expect(items[4]?.spec).not.toHaveProperty("payload");
    await expect(versions("nobody")).rejects.toMatchObject({ kind: "missing" });
  });

  test("The versions of a deleted key are those of the schedule that had it last, and end with its deletion", async () => {
    await world.put("k", { when: "every 5m" });
    await world.remove("k");
    await world.clock.advance(minute);
    await world.put("k", { when: "every 7m" });
    await world.clock.advance(minute);
    await world.remove("k");
    expect((await versions("k")).items).toMatchObject([
      { version: 2, change: "deleted", at: at(2 * minute), by: "ann" },
      { version: 1, change: "created", spec: { when: "every 7m" } },
    ]);
    await world.put("k", { when: "every 9m" });
    expect((await versions("k")).items).toMatchObject([{ version: 1, spec: { when: "every 9m" } }]);
    await expect(versions("none")).rejects.toThrow("There is no schedule none.");
  });

  test("Versions come in pages, and show of a large payload only that it changed", async () => {
    await world.put("k", { when: "every 5m", payload: "a".repeat(5_000) });
    await world.put("k", { when: "every 5m", payload: "b" });
    await world.put("k", { when: "every 5m", payload: "c" });
    const first = await versions("k", 2);
    expect(first).toMatchObject({
      items: [
        { version: 3, changes: [{ path: "payload", before: "b", after: "c" }] },
        { version: 2, changes: [{ path: "payload" }] },
      ],
      next: 2,
    });
    expect(first.items[1]?.changes).toEqual([{ path: "payload" }]);
    expect(await versions("k", 2, first.next)).toMatchObject({ items: [{ version: 1 }] });
  });
});

describe("restoring a version", () => {
  test("Restoring a version makes a new version with its spec, and names the restored one", async () => {
    await world.put("k", { when: "0 9 * * *", payload: { n: 1 }, description: "first" });
    await world.put("k", { when: "0 10 * * *", payload: { n: 2 } });
    const done = await restore("k", 1);
    expect(done).toMatchObject({
      change: "changed",
      schedule: { version: 3, body: { when: "0 9 * * *", payload: { n: 1 }, description: "first" } },
    });
    expect((await versions("k")).items[0]).toMatchObject({
      change: "restored",
      by: "rita",
      detail: { version: 1 },
      changes: [
        { path: "when", before: "0 10 * * *", after: "0 9 * * *" },
        { path: "description", before: null, after: "first" },
        { path: "payload.n", before: 2, after: 1 },
      ],
    });
  });

  test("Restoring the current spec changes nothing, and restoring a version that changed only the state takes its spec", async () => {
    await world.put("k", { when: "0 9 * * *" });
    await world.pause("k");
    expect(await restore("k", 1)).toMatchObject({ change: "unchanged", schedule: { version: 2 } });
    await world.patch("k", { when: "0 10 * * *" });
    expect(await restore("k", 2)).toMatchObject({
      change: "changed",
      schedule: { version: 4, state: "paused", body: { when: "0 9 * * *" }, holds: [{ owner: "ann" }] },
    });
  });

  test("Restoring a version whose group is on hold puts that hold on the schedule", async () => {
    await world.put("k", { when: "every 1h", group: "g" });
    await world.patch("k", { group: null });
    const label = { scope: "group" as const, name: "g" };
    const deps = { sql: world.sql, queue: world.queue };
    await pauseLabel(deps, { label, caller: { name: "bob" }, reason: "freeze" });
    expect(await restore("k", 1)).toMatchObject({
      schedule: {
        state: "paused",
        body: { group: "g" },
        holds: [{ owner: "bob", scope: "group", name: "g" }],
      },
    });
  });

  test("Restoring a version keeps the phase of its interval", async () => {
    await world.put("k", { when: "every 1h" });
    await world.clock.setNow(at("10:17:00"));
    await world.put("k", { when: "every 2h" });
    expect(await coming("k", 1)).toEqual(["11:00", "12:00", "13:00", "14:00", "15:00"]);
    await world.clock.setNow(at("11:00:00"));
    await world.tick();
    await world.work();
    expect(world.delivered.map(({ occurrence }) => occurrence)).toEqual(["2026-03-02T11:00:00.000Z"]);
  });

  test("Restoring a version with a spread shows and plans no occurrence from before the restore", async () => {
    await world.put("k", { when: "every 1h", spread: "50m" });
    await world.put("k", { when: "every 3h" });
    await world.clock.setNow(at("12:01:00"));
    await world.tick();
    expect((await restore("k", 1)).changes.after[0]).toEqual(at("13:00:00"));
    await world.clock.setNow(at("13:59:00"));
    await world.tick();
    expect(await world.sql`select occurrence from carillon.jobs`).toEqual([{ occurrence: at("13:00:00") }]);
  });

  test("Restoring a relative time restores its instant, and is refused once that is past", async () => {
    await world.put("k", { when: "in 30m", payload: 1 });
    await world.clock.setNow(at("10:10:00"));
    await world.put("k", { when: "in 3h", payload: 2 });
    expect(await restore("k", 1)).toMatchObject({
      schedule: { version: 3, nextAt: at("10:30:00") },
      changes: { before: [at("13:10:00")], after: [at("10:30:00")] },
    });
    expect(await restore("k", 1)).toMatchObject({ change: "unchanged" });
    await world.put("k", { when: "in 3h" });
    await world.clock.setNow(at("10:30:00"));
    await expect(restore("k", 1)).rejects.toMatchObject({
      kind: "impossible",
      message: "Version 1 cannot be restored.",
      faults: [
        {
          path: "when",
          message:
            "is at 2026-03-02T10:30:00.000Z, which is in the past; set a new `when` to run the schedule again",
        },
      ],
    });
  });

  test("Restoring a version is refused if its spec is impossible, the version unknown, or `ifMatch` another version", async () => {
    await world.put("k", { when: "at 2026-03-02T10:30:00Z" });
    await world.put("k", { when: "every 1h" });
    await world.clock.setNow(at("12:00:00"));
    await expect(restore("k", 1)).rejects.toMatchObject({
      kind: "impossible",
      faults: [{ path: "when", message: expect.stringContaining("in the past") }],
    });
    await expect(restore("k", 3)).rejects.toMatchObject({ kind: "missing" });
    await expect(restore("nobody", 1)).rejects.toMatchObject({ kind: "missing" });
    await expect(restore("k", 2, [1])).rejects.toMatchObject({ kind: "precondition" });
    await world.put("k", { when: "every 3h" });
    const refuse = () => {
      throw new Refusal("impossible", "The target does not exist here.");
    };
    const params = { key: "k", version: 2, caller: { name: "rita" } };
    await expect(
      restoreVersion({ sql: world.sql, queue: world.queue }, params, refuse),
    ).rejects.toMatchObject({
      kind: "impossible",
    });
    expect((await versions("k")).items[0]).toMatchObject({ version: 3, change: "replaced" });
  });

  test("Restoring a version of a deleted schedule makes it again with that spec, without its holds, and names the version in the audit", async () => {
    await world.put("k", { when: "0 9 * * *", payload: { n: 1 }, maxFires: 2 });
    await world.patch("k", { payload: { n: 2 } });
    await world.pause("k");
    await world.remove("k");
    expect(await restore("k", 1)).toMatchObject({
      change: "created",
      schedule: {
        version: 1,
        state: "active",
        holds: [],
        createdBy: "rita",
        body: { when: "0 9 * * *", payload: { n: 1 }, maxFires: 2 },
      },
      changes: { before: [], after: [new Date("2026-03-03T09:00:00Z"), new Date("2026-03-04T09:00:00Z")] },
    });
    const [audited] =
      await world.sql`select action, actor, detail from carillon.audit order by id desc limit 1`;
    expect(audited).toEqual({
      action: "schedule.created",
      actor: "rita",
      detail: { version: 1, deletedAt: at(0).toISOString() },
    });
    await world.remove("k");
    expect(await restore("k", 2)).toMatchObject({
      change: "created",
      schedule: { body: { payload: { n: 1 } } },
    });
  });

  test("A deleted schedule that is made again keeps the phase of its interval and the secret of its webhook", async () => {
    const secret = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"];
    const webhook = { url: "https://example.com/hook", secret };
    await world.put("k", { when: "every 1h", target: { webhook } });
    await world.remove("k");
    await world.clock.setNow(at("10:17:00"));
    expect(await coming("k", 1)).toEqual(["11:00", "12:00", "13:00", "14:00", "15:00"]);
    const [kept] = await world.sql<{ webhook: Webhook }[]>`
      select v.target->'webhook' as webhook from carillon.schedules s join carillon.schedule_versions v on v.schedule_id = s.id
      where s.key = 'k' and s.deleted_at is null`;
    if (kept === undefined) throw new Error("The schedule was not made again.");
    expect(await openedWebhook(world.sql, kept.webhook)).toMatchObject({ secret });
  });

  test("A deleted schedule whose only instant is over is not made again, not even within the grace of a new one", async () => {
    await world.put("soon", { when: "at 2026-03-02T10:00:30Z" });
    await world.put("later", { when: "in 3h" });
    await world.remove("later");
    await world.clock.setNow(at("10:00:40"));
    await world.tick();
    await world.remove("soon");
    await expect(restore("soon", 1)).rejects.toMatchObject({
      message: "Version 1 cannot be restored.",
      faults: [{ path: "when", message: expect.stringContaining("which is in the past") }],
    });
    expect(await coming("later", 1)).toEqual(["13:00"]);
  });

  test("A deleted schedule is made again under the holds of its group, and never twice by two at once", async () => {
    await world.put("k", { when: "every 1h", group: "g" });
    await world.remove("k");
    const deps = { sql: world.sql, queue: world.queue };
    await pauseLabel(deps, {
      label: { scope: "group", name: "g" },
      caller: { name: "bob" },
      reason: "freeze",
    });
    const done = await Promise.allSettled([restore("k", 1), restore("k", 2), restore("k", 1, [1])]);
    const changes = done.map((each) => (each.status === "fulfilled" ? each.value.change : "refused")).sort();
    expect(changes.filter((change) => change === "created")).toHaveLength(1);
    const rows =
      await world.sql`select held_since from carillon.schedules where key = 'k' and deleted_at is null`;
    expect(rows).toEqual([{ held_since: expect.any(Date) }]);
  });

  test("A dry run of a restore of a deleted schedule makes nothing, and `ifNoneMatch` refuses an existing one", async () => {
    await world.put("k", { when: "every 1h" });
    const deps = { sql: world.sql, queue: world.queue };
    const params = { key: "k", version: 1, caller: { name: "rita" }, ifNoneMatch: true };
    await expect(restoreVersion(deps, params, () => {})).rejects.toMatchObject({ kind: "precondition" });
    await world.remove("k");
    await expect(restore("k", 1, [1])).rejects.toMatchObject({ kind: "precondition" });
    expect(await tryRestore(deps, params, () => {})).toMatchObject({
      current: null,
      done: { change: "created", changes: { after: [at("11:00:00"), at("12:00:00"), {}, {}, {}] } },
    });
    expect(await world.sql`select 1 from carillon.schedules where key = 'k' and deleted_at is null`).toEqual(
      [],
    );
    const refuse = () => {
      throw new Refusal("impossible", "The target does not exist here.");
    };
    await expect(restoreVersion(deps, { ...params }, refuse)).rejects.toMatchObject({ kind: "impossible" });
  });
});
