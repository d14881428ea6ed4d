import { afterEach, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;

const keys = ["a", "b", "c", "d", "e"];
const plain = { when: "*/5 * * * *", target: { queue: "demo" }, group: "g", tags: ["t"] };

beforeEach(async () => {
  api = await ownApi();
  for (const key of keys) await api.send("PUT", `/v1/schedules/${key}`, { body: plain });
  await api.tick();
});

afterEach(() => api.stop());

const ofC = "schedule_id = (select id from carillon.schedules where key = 'c')";

const spoilVersion = (set: string) =>
  api.sql.unsafe(`update carillon.schedule_versions set ${set} where ${ofC}`);

const ofOtherMoment = {
  "no row of its version": `delete from carillon.schedule_versions where ${ofC}`,
  "rows of later versions": `
    insert into carillon.schedule_versions
    select (jsonb_populate_record(v, jsonb_build_object('version', 3, 'spec_version', 3))).* from carillon.schedule_versions v
    where ${ofC} and version = 1`,
} as const;

/** Changes rows as a restore of single tables leaves them. */
const restore = (statement: string) =>
  api.sql.begin(async (tx) => {
    await tx`set local session_replication_role = replica`;
    await tx.unsafe(statement);
  });

async function answered(method: string, path: string, parts: SendParts = {}) {
  const { status, json } = await api.send(method, path, parts);
  return { status, json };
}

const listed = z.looseObject({ key: z.string(), id: z.string(), unreadable: z.string().optional() });
const pageShape = z.looseObject({ items: z.array(listed), cursor: z.string().optional() });
const groupShape = z.looseObject({ schedules: z.array(listed), cursor: z.string().optional() });

async function listedAll(query: object = {}) {
  const found: z.output<typeof listed>[] = [];
  for (let cursor: string | undefined, turn = 0; turn < 6; turn += 1) {
    const asked = new URLSearchParams({ ...query, limit: "2", ...(cursor === undefined ? {} : { cursor }) });
    const { status, json } = await answered("GET", "/v1/schedules", { query: String(asked) });
    expect(status).toBe(200);
    const page = pageShape.parse(json);
    found.push(...page.items);
    cursor = page.cursor;
    if (cursor === undefined) return found;
  }
  throw new Error("The list has no end.");
}

const odd: [name: string, set: string, reason: string][] = [
  ["a catchUp of null", `body = body || '{"catchUp": null}'`, "`catchUp` is null"],
  [
    "labels of another kind",
    `body = body || '{"tags": 5, "group": 7}'`,
    "`tags` is a number, `group` is a number",
  ],
  ["a body that is a number", "body = '5'", "the body is not an object"],
  ["a target of null", "target = 'null'", "`target` is null"],
  ["a target that is a number", "target = '5'", "`target` is a number"],
  ["a run at infinity", "once_at = 'infinity', cadence_id = null", "The stored once_at is infinite"],
  ["a run before all time", "once_at = '-infinity', cadence_id = null", "The stored once_at is infinite"],
  [
    "an interval from infinity",
    "first_at = 'infinity', every_ms = 60000, cadence_id = null",
    "The stored first_at is infinite",
  ],
];

const cases: [name: string, spoil: () => Promise<unknown>, reason: string, next: number][] = [
  ...odd.map(([name, set, reason]): (typeof cases)[number] => [name, () => spoilVersion(set), reason, 2]),
  [
    "no row",
    () => restore(ofOtherMoment["no row of its version"]),
    "The stored version 1 has no row in carillon.schedule_versions.",
    2,
  ],
  [
    "rows of later versions beside it",
    () => restore(ofOtherMoment["rows of later versions"]),
    "The stored version is 1, and carillon.schedule_versions has a row of version 3.",
    4,
  ],
];

describe.each(cases)("a schedule whose stored version has %s", (_, spoil, reason, next) => {
  test("An unreadable schedule is listed with its key, id and reason; the others are listed as usual", async () => {
    const before = await listedAll();
    await spoil();
    const after = await listedAll();
    expect(after.map(({ key }) => key)).toEqual(keys);
    expect(after.filter(({ key }) => key !== "c")).toEqual(before.filter(({ key }) => key !== "c"));
    const [c] = after.filter(({ key }) => key === "c");
    expect(c?.id).toBe(before[2]?.id);
    expect(c?.unreadable).toContain(reason);

    for (const query of [
      { group: "g" },
      { tag: "t" },
      { prefix: "c" },
      { state: "active" },
      { target: "queue/demo" },
    ])
      expect((await listedAll(query)).map(({ key }) => key)).toContain("c");
    const { status, json } = await answered("GET", "/v1/groups/g");
    expect(status).toBe(200);
    expect(
      groupShape.parse(json).schedules.map(({ key, unreadable }) => [key, unreadable?.includes(reason)]),
    ).toEqual(keys.map((key) => [key, key === "c" ? true : undefined]));
  });

  test("An unreadable schedule fails no read, and its history stays readable", async () => {
    await spoil();
    expect(await answered("GET", "/v1/schedules/c")).toMatchObject({
      status: 200,
      json: { key: "c", unreadable: expect.stringContaining(reason), nextAt: null },
    });
    for (const path of ["next", "jobs", "versions"])
      expect([path, (await answered("GET", `/v1/schedules/c/${path}`)).status]).toEqual([path, 200]);
    for (const path of ["schedules:count", "jobs", "audit", "stats", "forecast", "quarantine", "tags/t"])
      expect([path, (await answered("GET", `/v1/${path}`)).status]).toEqual([path, 200]);
    const query = "at=2026-03-02T11:00:00Z";
    expect((await answered("GET", "/v1/schedules/c/explain", { query })).json).toMatchObject({
      outcome: "set-aside",
      reason: "unreadable",
      sentence: expect.stringContaining(reason),
    });
  });

  test("An unreadable schedule is paused, resumed and cancelled with its group", async () => {
    await spoil();
    const head = () => api.sql`
      select group_key, tags, target_kind, target_id, queue, max_fires, overlap, lane, deleted_at from carillon.schedules where key = 'c'`;
    const headBefore = await head();
    for (const label of ["groups/g", "tags/t"]) {
      for (const verb of ["pause", "resume"])
        expect(await answered("POST", `/v1/${label}/${verb}`)).toMatchObject({
          status: 200,
          json: { done: 5 },
        });
    }
    expect(await head()).toEqual(headBefore);
    await api.tick();
    expect(
      await api.sql`select s.key from carillon.quarantine q join carillon.schedules s on s.id = q.schedule_id`,
    ).toEqual(next === 2 ? [{ key: "c" }] : []);
    expect((await answered("POST", "/v1/groups/g/cancel")).status).toBe(200);
  });

  test("An unreadable schedule cannot be patched; a put repairs it and a delete removes it", async () => {
    await spoil();
    expect(await answered("PATCH", "/v1/schedules/c", { body: { payload: 1 } })).toMatchObject({
      status: 409,
      json: { detail: expect.stringContaining(reason) },
    });
    const put = await answered("PUT", "/v1/schedules/c", { body: plain });
    expect(put).toMatchObject({
      status: 200,
      json: { version: next, ...plain, nextAt: "2026-03-02T10:05:00.000Z" },
    });
    expect(put.json).not.toHaveProperty("unreadable");

    if (next === 2) await spoil();
    expect((await answered("DELETE", "/v1/schedules/c")).status).toBe(204);
    expect((await answered("GET", "/v1/audit")).status).toBe(200);
    expect((await listedAll()).map(({ key }) => key)).toEqual(["a", "b", "d", "e"]);
  });
});

describe("instants beyond the range of JavaScript", () => {
  const held = (since: string, until: string) =>
    api.sql.unsafe(`
      insert into carillon.holds (schedule_id, owner, since, until, shard)
        select id, 'x', '${since}', '${until}', shard from carillon.schedules where key = 'c';
      update carillon.schedules set held_since = '${since}', held_until = '${until}' where key = 'c'`);

  test.each([
    ["-infinity", "infinity", "paused"],
    ["-infinity", "-infinity", "active"],
    ["infinity", "infinity", "paused"],
  ])("A hold from %s to %s can be read, edited and released", async (since, until, state) => {
    await held(since, until);
    expect(await answered("GET", "/v1/schedules/c")).toMatchObject({ status: 200, json: { state } });
    for (const path of ["groups/g/pause", "groups/g/resume", "schedules/c/pause", "schedules/c/resume"])
      expect([path, (await answered("POST", `/v1/${path}`)).status]).toEqual([path, 200]);
    for (const [method, body] of [
      ["PATCH", { payload: 1 }],
      ["PUT", { ...plain, when: "every 10m" }],
    ] as const)
      expect([method, (await answered(method, "/v1/schedules/c", { body })).status]).toEqual([method, 200]);
    await api.tick();
    expect((await answered("DELETE", "/v1/schedules/c")).status).toBe(204);
  });

  test("An instant out of range is shown as the nearest valid one, in a schedule, a job and the quarantine", async () => {
    await api.send("PUT", "/v1/schedules/m", { body: { ...plain, when: "* * * * *" } });
    await api.tick();
    await api.sql`update carillon.schedules set created_at = 'infinity', updated_at = 'infinity' where key = 'c'`;
    await api.sql`
      update carillon.jobs set due_at = '4000-01-01 BC' where schedule_id = (select id from carillon.schedules where key = 'm')`;
    await api.sql`
      insert into carillon.quarantine (consumer, item, reason, first_at, last_at, tries, next_at)
      values ('plan', '0', 'odd', '-infinity', 'infinity', 1, 'infinity')`;
    const createdAt = "9999-12-31T23:59:59.999Z";
    expect(await answered("GET", "/v1/schedules/c")).toMatchObject({ status: 200, json: { createdAt } });
    expect((await answered("GET", "/v1/schedules/m/jobs")).json).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ dueAt: "0100-01-01T00:00:00.000Z" })]),
    });
    expect((await answered("GET", "/v1/quarantine")).json).toMatchObject({
      items: [{ firstAt: "0100-01-01T00:00:00.000Z", nextAt: "9999-12-31T23:59:59.999Z" }],
    });
    expect((await answered("GET", "/v1/stats")).status).toBe(200);
  });
});

test("A time zone unknown to the runtime does not fail coming occurrences and explanations", async () => {
  await spoilVersion(`body = body || '{"timezone": "Mars/Olympus"}'`);
  expect((await answered("GET", "/v1/schedules")).status).toBe(200);
  expect((await answered("GET", "/v1/schedules/c/next")).status).toBe(200);
  const query = "at=2026-03-02T11:01:00Z";
  expect((await answered("GET", "/v1/schedules/c/explain", { query })).status).toBe(200);
});
