import { afterAll, beforeAll, expect, test } from "vitest";
import type { ApiAnswer } from "../api/own-api.ts";
import { putOf, type QuotaWorld, quotaWorld, target } from "./quota-world.ts";

let world: QuotaWorld;
beforeAll(async () => {
  world = await quotaWorld();
});
afterAll(() => world.api.stop());

const dayMs = 86_400_000;

let made = 0;
/** Another payload of this length as JSON: an edit with the same one changes nothing. */
function payloadOf(bytes: number): string {
  made += 1;
  return `${made}`.padStart(bytes - 2, "x");
}

/** Another payload of a version that has this length with its target. */
const payloadFor = (bytes: number) => payloadOf(bytes - JSON.stringify(target).length);

const at = (key: string) => `/v1/schedules/${encodeURIComponent(key)}`;
const patch = (key: string, body: object) => world.api.send("PATCH", at(key), { body });
const fire = (key: string, body?: object) =>
  world.api.send("POST", `${at(key)}/fire`, body === undefined ? {} : { body });

const statusesOf = (json: unknown) =>
  (Object(json) as { results: { status: number }[] }).results.map(({ status }) => status);
const countOf = (answers: readonly (ApiAnswer | number)[], status: number) =>
  answers.filter((each) => (typeof each === "number" ? each : each.status) === status).length;

async function writtenBy(prefix: string): Promise<number | undefined> {
  const { json } = await world.api.send("GET", "/v1/quotas", { query: "limit=100" });
  const { items } = Object(json) as { items: { prefix: string; payloadBytesPerDay: { used: number } }[] };
  return items.find((each) => each.prefix === prefix)?.payloadBytesPerDay.used;
}

test("Each version of one schedule takes its payload and its target from the day, until an edit is refused with the end of the day", async () => {
  await world.define("old:=payloadBytesPerDay=1000");
  const by = await world.team("old:");
  expect((await world.put("old:a", { payload: payloadFor(100) }, by)).status).toBe(201);
  const answers: ApiAnswer[] = [];
  for (let n = 0; n < 20; n++) answers.push(await patch("old:a", { payload: payloadFor(100) }));
  expect([countOf(answers, 200), countOf(answers, 422)]).toEqual([9, 11]);
  const now = world.api.clock.now().getTime();
  const end = new Date(now - (now % dayMs) + dayMs).toISOString();
  expect(answers.at(-1)?.json).toMatchObject({
    type: "urn:carillon:problem:quota",
    detail: expect.stringContaining(`The day ends at ${end}`),
    errors: [
      { path: "", message: `payloadBytesPerDay: has 1,000, would have 1,100, may have 1,000 until ${end}` },
    ],
  });
  // The counted bytes are those of the stored versions.
  const [stored] = await world.api.sql<{ bytes: number }[]>`
    select sum(octet_length(v.payload::text) + octet_length(replace(v.target::text, ' ', '')))::float8 as bytes
    from carillon.schedule_versions v join carillon.schedules s on s.id = v.schedule_id where s.key = 'old:a'`;
  expect([stored?.bytes, await writtenBy("old:")]).toEqual([1_000, 1_000]);
});

test.each(["ledger", "pulse"])(
  "A version takes the attributes of its target from the day, also without a payload (%s)",
  async (delivery) => {
    const prefix = `wide-${delivery}:`;
    await world.define(`${prefix}=payloadBytesPerDay=50000`);
    const by = await world.team(prefix);
    const edit = (letter: string) => {
      const attributes = Object.fromEntries(
        Array.from({ length: 10 }, (_, n) => [`a${n}`, letter.repeat(1_000)]),
      );
      return world.put(`${prefix}a`, { delivery, target: { ...target, attributes } }, by);
    };
    const statuses: number[] = [];
    for (const letter of "abcdef") statuses.push((await edit(letter)).status);
    expect(statuses).toEqual([201, 200, 200, 200, 422, 422]);
    const [stored] = await world.api.sql<{ bytes: number }[]>`
      select sum(octet_length(replace(replace(v.target::text, ': ', ':'), ', ', ',')))::float8 as bytes
      from carillon.schedule_versions v join carillon.schedules s on s.id = v.schedule_id where s.key = ${`${prefix}a`}`;
    expect(await writtenBy(prefix)).toBe(stored?.bytes);
    expect((await world.remove(`${prefix}a`, by)).status).toBe(204);
  },
);

test("Two hundred versions that one batch gives to one schedule take as much as two hundred edits", async () => {
  await world.define("fold:=payloadBytesPerDay=4040");
  await world.put("fold:a", { payload: payloadFor(40) });
  const operations = Array.from({ length: 200 }, () => ({
    patch: { key: "fold:a", payload: payloadFor(40) },
  }));
  const statuses = statusesOf((await world.batch(operations)).json);
  expect([countOf(statuses, 200), countOf(statuses, 422)]).toEqual([100, 100]);
  expect(await writtenBy("fold:")).toBe(4_040);
});

test("A version that keeps the payload stores it again and takes it again; without a new spec it takes nothing", async () => {
  await world.define("same:=payloadBytesPerDay=350");
  await world.put("same:a", { payload: payloadFor(100) });
  await world.put("same:none");
  expect((await patch("same:a", { description: "first" })).status).toBe(200);
  expect((await patch("same:a", { description: "second" })).status).toBe(200);
  expect(await writtenBy("same:")).toBe(316);
  expect((await patch("same:a", { description: "third" })).status).toBe(422);
  expect((await world.api.send("POST", `${at("same:a")}/pause`, { body: {} })).status).toBe(200);
  expect((await patch("same:none", { description: "of one without a payload" })).status).toBe(200);
  expect((await patch("same:a", { payload: null })).status).toBe(200);
  expect(await writtenBy("same:")).toBe(348);
  expect((await world.remove("same:a")).status).toBe(204);
});

test("A fire with a payload of its own takes it from the day, and one without takes nothing", async () => {
  await world.define("fire:=payloadBytesPerDay=1016");
  const by = await world.team("fire:");
  await world.put("fire:a", {}, by);
  const answers: ApiAnswer[] = [];
  for (let n = 0; n < 14; n++) answers.push(await fire("fire:a", { payload: payloadOf(100) }));
  expect([countOf(answers, 202), countOf(answers, 422)]).toEqual([10, 4]);
  expect(answers.at(-1)?.json).toMatchObject({ type: "urn:carillon:problem:quota" });
  expect((await fire("fire:a")).status).toBe(202);
  const [stored] = await world.api.sql<{ jobs: number }[]>`
    select count(j.payload)::int as jobs from carillon.jobs j join carillon.schedules s on s.id = j.schedule_id where s.key = 'fire:a'`;
  expect([stored?.jobs, await writtenBy("fire:")]).toEqual([10, 1_016]);
});

test("Schedules and jobs that are made and deleted again give nothing back before the day ends", async () => {
  await world.define("loop:=payloadBytesPerDay=540");
  const statuses: number[] = [];
  for (let n = 0; n < 7; n++) {
    statuses.push((await world.put(`loop:${n}`, { payload: payloadFor(100) })).status);
    await world.remove(`loop:${n}`);
  }
  expect(statuses).toEqual([201, 201, 201, 201, 201, 422, 422]);
  // A tick counts schedules again, and deletes rows that count none.
  await world.api.sql`select carillon.recount_usage()`;
  const job = { key: "loop:job", target, payload: payloadFor(100) };
  expect((await world.api.send("POST", "/v1/jobs", { body: job })).status).toBe(422);
  const inBatch = [
    { job },
    putOf("loop:b", { payload: payloadFor(100) }),
    putOf("loop:c"),
    { delete: { key: "loop:c" } },
  ];
  expect(statusesOf((await world.batch(inBatch)).json)).toEqual([422, 422, 201, 204]);
  const bulk = { filter: { prefix: "loop:" }, patch: { payload: 1 } };
  await world.put("loop:d");
  expect((await world.api.send("POST", "/v1/schedules:patch", { body: bulk })).json).toMatchObject({
    done: 0,
    failed: 1,
  });
});

test("The next day begins with the whole quota, and what longer prefixes write counts for the shorter ones", async () => {
  await world.define("day:=payloadBytesPerDay=200", "day:eu:=payloadBytesPerDay=150");
  const put = async (key: string) => (await world.put(key, { payload: payloadFor(100) })).status;
  expect([await put("day:eu:a"), await put("day:eu:b"), await put("day:a"), await put("day:b")]).toEqual([
    201, 422, 201, 422,
  ]);
  const now = world.api.clock.now().getTime();
  await world.api.clock.advance(dayMs - (now % dayMs));
  expect(await writtenBy("day:")).toBe(0);
  expect([await put("day:eu:a"), await put("day:eu:b"), await put("day:a"), await put("day:b")]).toEqual([
    200, 422, 200, 422,
  ]);
  // The row of yesterday counts today's bytes alone.
  expect(await writtenBy("day:")).toBe(200);
});

test("A version that a changed calendar causes takes nothing from the day, since no edit of the team has written it", async () => {
  await world.define("cal:=payloadBytesPerDay=100");
  const calendar = (date: string) => world.api.send("PUT", "/v1/calendars/days", { body: { dates: [date] } });
  await calendar("2030-01-01");
  const payload = payloadFor(100);
  const body = { when: "0 9 * * *", calendar: { name: "days", on: "skip" }, payload };
  expect((await world.put("cal:a", body)).status).toBe(201);
  expect((await calendar("2030-01-02")).json).toMatchObject({ replanned: 1 });
  expect((await world.api.send("GET", at("cal:a"))).json).toMatchObject({ version: 2, payload });
  expect(await writtenBy("cal:")).toBe(100);
});
