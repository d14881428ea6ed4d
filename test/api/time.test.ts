import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(async () => {
  await api.stop();
});

const target = { queue: "demo" };
const put = (key: string, body: object) =>
  api.send("PUT", `/v1/schedules/${key}`, { body: { target, ...body } });
const preview = (body: unknown) => api.send("POST", "/v1/preview", { body, as: "read" });
const paths = (json: unknown) =>
  typeof json === "object" && json !== null && "errors" in json && Array.isArray(json.errors)
    ? json.errors.map(({ path }: { path: string }) => path).sort()
    : [];

describe("POST /v1/preview", () => {
  test("A preview needs no target and only the scope read, and lists instants, wall times and words", async () => {
    const { status, json } = await preview({
      when: "30 2 * * *",
      timezone: "Europe/Berlin",
      spread: "0s",
      from: "2030-03-30T12:00:00Z",
      n: 2,
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      occurrences: ["2030-03-31T01:00:00.000Z", "2030-04-01T00:30:00.000Z"],
      details: [
        {
          at: "2030-03-31T01:00:00.000Z",
          wall: "2030-03-31T03:00:00+02:00",
          note: expect.stringContaining("02:30 does not exist on this day"),
        },
        { at: "2030-04-01T00:30:00.000Z", wall: "2030-04-01T02:30:00+02:00", note: null },
      ],
      timezone: "Europe/Berlin",
      cadence: "30 2 * * *",
      cadenceText: expect.stringMatching(/\w/),
      warnings: expect.any(Array),
    });
  });

  test("A preview lists when each occurrence is due, where `spread` or `slot` moves it", async () => {
    const { json } = await preview({
      key: "k",
      when: "0 9 * * *",
      slot: "7m",
      from: "2030-01-01T00:00:00Z",
      n: 1,
    });
    expect(json).toMatchObject({ details: [{ due: "2030-01-01T09:02:00.000Z" }] });
  });

  test.each<[string, unknown, number, string[]]>([
    ["nothing", {}, 400, ["when"]],
    ["a list", [], 400, [""]],
    ["an unknown field", { when: "every 1h", color: 1 }, 400, ["color"]],
    ["faults in each part at once", { when: "61 * * * *", n: 0, key: "a/b" }, 400, ["key", "n", "when"]],
    ["more than a thousand", { when: "every 1h", n: 1_001 }, 400, ["n"]],
    ["a `from` that is not an instant", { when: "every 1h", from: "now" }, 400, ["from"]],
    ["a calendar that does not exist", { when: "every 1h", calendar: { name: "x" } }, 422, ["calendar.name"]],
    [
      "a handler that does not exist",
      { when: "every 1h", target: { handler: "x" } },
      422,
      ["target.handler"],
    ],
  ])("A preview refuses %s", async (_, body, status, faults) => {
    const answer = await preview(body);
    expect([answer.status, paths(answer.json)]).toEqual([status, faults]);
  });

  test("A preview reports the position of a fault as saving does", async () => {
    const body = { when: "0 25 * * *" };
    const saved = await put("faulty", body);
    const previewed = await preview(body);
    expect(previewed.json).toMatchObject({ errors: [{ message: expect.stringContaining("at position 2") }] });
    expect(paths(previewed.json)).toEqual(paths(saved.json));
  });
});

describe("GET /v1/schedules/{key}/next", () => {
  test("Up to a thousand coming occurrences are listed, with the holds that delay them", async () => {
    await put("paused", { when: "*/5 * * * *", paused: true });
    const { json } = await api.send("GET", "/v1/schedules/paused/next", { query: "n=1000" });
    expect(json).toMatchObject({
      occurrences: { length: 1_000 },
      timezone: "UTC",
      holds: [{ owner: "adminer", reason: null }],
      heldUntil: null,
    });
    expect(json).toHaveProperty("details.999.held", true);
    const many = await api.send("GET", "/v1/schedules/paused/next", { query: "n=1001" });
    expect(many.status).toBe(400);
  });
});

describe("GET /v1/schedules/{key}/explain", () => {
  test("An explanation has one sentence and fields, and omits fields that do not apply", async () => {
    await put("daily", { when: "0 9 * * *" });
    const { status, json } = await api.send("GET", "/v1/schedules/daily/explain", {
      query: "at=2099-01-01T09:00:00Z",
      as: "read",
    });
    expect(status).toBe(200);
    expect(json).toEqual({
      key: "daily",
      scheduleId: expect.stringMatching(/^\d+$/),
      at: "2099-01-01T09:00:00.000Z",
      wall: "2099-01-01T09:00:00+00:00",
      outcome: "planned",
      sentence: "Is planned: its job is made about three minutes before.",
      occurrence: true,
      version: 1,
      cadence: "0 9 * * *",
      dueAt: "2099-01-01T09:00:00.000Z",
      nearest: {
        before: { at: "2098-12-31T09:00:00.000Z", wall: "2098-12-31T09:00:00+00:00", note: null },
        after: { at: "2099-01-02T09:00:00.000Z", wall: "2099-01-02T09:00:00+00:00", note: null },
      },
    });
  });

  test("An explanation shows the job as in a list", async () => {
    const [row] = await api.sql<{ at: string }[]>`
      select to_char(carillon.clock() at time zone 'UTC' - interval '10 seconds', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') as at`;
    await put("now", { when: `at ${row?.at}` });
    await api.tick();
    const { json } = await api.send("GET", "/v1/schedules/now/explain", { query: `at=${row?.at}` });
    const jobs = await api.send("GET", "/v1/schedules/now/jobs");
    expect(jobs.json).toMatchObject({ items: [{ key: "now" }] });
    expect(json).toMatchObject({
      outcome: "waiting",
      job: { key: "now", state: "waiting", occurrence: expect.any(String) },
    });
  });

  test("An explanation takes an instant of an existing or deleted schedule", async () => {
    const explain = (key: string, query: string) =>
      api.send("GET", `/v1/schedules/${key}/explain`, { query });
    expect((await explain("nobody", "at=2030-01-01T00:00:00Z")).status).toBe(404);
    expect((await explain("daily", "")).status).toBe(400);
    expect(paths((await explain("daily", "at=yesterday")).json)).toEqual(["at"]);
    await put("gone", { when: "0 9 * * *" });
    await api.send("DELETE", "/v1/schedules/gone");
    expect((await explain("gone", "at=2030-01-01T09:00:00Z")).json).toMatchObject({
      outcome: "deleted",
      edit: { by: "adminer", change: "deleted" },
    });
    for (const at of ["1970-01-01T00:00:00Z", "2200-12-31T23:59:59Z"])
      expect((await explain("daily", `at=${at}`)).status).toBe(200);
  });
});

describe("versions of a schedule", () => {
  test("Versions are listed in pages, and restoring one is an ordinary edit", async () => {
    await put("edited", { when: "0 9 * * *" });
    await put("edited", { when: "0 10 * * *" });
    await api.send("POST", "/v1/schedules/edited/pause", { body: { reason: "maintenance" } });
    const first = await api.send("GET", "/v1/schedules/edited/versions", { query: "limit=2", as: "read" });
    const cursor = await madeUpCursor(api, "versions", "2");
    expect(first.json).toEqual({
      items: [
        {
          version: 3,
          change: "paused",
          at: expect.any(String),
          by: "adminer",
          detail: { owner: "adminer", reason: "maintenance", until: null },
          changes: [],
        },
        expect.objectContaining({
          version: 2,
          change: "replaced",
          changes: [{ path: "when", before: "0 9 * * *", after: "0 10 * * *" }],
          spec: expect.objectContaining({ when: "0 10 * * *", retry: expect.any(Object) }),
        }),
      ],
      cursor,
    });
    const last = await api.send("GET", "/v1/schedules/edited/versions", { query: `cursor=${cursor}` });
    expect(last.json).toMatchObject({ items: [{ version: 1, change: "created" }] });
    expect(last.json).not.toHaveProperty("cursor");

    const restore = (n: string, headers = {}, as: "read" | "write" = "write") =>
      api.send("POST", `/v1/schedules/edited/versions/${n}/restore`, { headers, as });
    expect((await restore("1", {}, "read")).status).toBe(403);
    expect((await restore("1", { "if-match": '"2"' })).status).toBe(412);
    expect(await restore("1", { "if-match": '"3"' })).toMatchObject({
      status: 200,
      headers: { etag: '"4"' },
      json: { when: "0 9 * * *", version: 4, state: "paused", changes: { before: [], after: [] } },
    });
    for (const n of ["9", "0", "x", "99999999999"]) expect((await restore(n)).status).toBe(404);
    expect((await api.send("GET", "/v1/schedules/nobody/versions")).status).toBe(404);
    const others = await api.send("GET", "/v1/schedules/edited/versions", {
      query: `cursor=${await madeUpCursor(api, "jobs", "2")}`,
    });
    expect(paths(others.json)).toEqual(["cursor"]);
  });
});
