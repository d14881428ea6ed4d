import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { issueToken, withToken } from "./issued-token.ts";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(async () => {
  await api.stop();
});

const least = { dates: ["12-25"], weekly: ["sun"] };
const put = (name: string, body: unknown = least, headers: Record<string, string> = {}) =>
  api.send("PUT", `/v1/calendars/${name}`, { body, headers });
const get = (name: string) => api.send("GET", `/v1/calendars/${name}`);
const remove = (name: string, headers: Record<string, string> = {}) =>
  api.send("DELETE", `/v1/calendars/${name}`, { headers });
const schedule = (key: string, calendar: unknown) =>
  api.send("PUT", `/v1/schedules/${key}`, {
    body: { when: "0 9 * * *", target: { queue: "demo" }, calendar },
  });
const faults = (json: unknown) =>
  typeof json === "object" && json !== null && "errors" in json && Array.isArray(json.errors)
    ? json.errors.map((fault: { path: string }) => fault.path).sort()
    : [];

describe("PUT of a calendar", () => {
  test("PUT creates a calendar, and GET returns every field of the contract", async () => {
    const created = await put("de", {
      dates: ["2026-12-24..2027-01-02", "05-01"],
      weekly: ["sun", "sat"],
      except: ["2026-12-27"],
      description: "Germany",
    });
    expect(created).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: "/v1/calendars/de" },
      json: { replanned: 0 },
    });
    const read = await get("de");
    expect(read).toMatchObject({ status: 200, headers: { etag: '"1"' } });
    expect(read.json).toEqual({
      name: "de",
      description: "Germany",
      dates: ["05-01", "2026-12-24..2027-01-02"],
      weekly: ["sat", "sun"],
      except: ["2026-12-27"],
      version: 1,
      schedules: 0,
      pending: 0,
      more: false,
      createdAt: expect.any(String),
      createdBy: "adminer",
      updatedAt: expect.any(String),
      updatedBy: "adminer",
    });
  });

  test("PUT of an identical calendar changes nothing; a different one raises the version and replans its schedules", async () => {
    await put("same");
    expect(await put("same", { weekly: ["sun"], dates: ["12-25"], name: "same" })).toMatchObject({
      status: 200,
      headers: { etag: '"1"' },
    });
    expect((await schedule("refers", { name: "same" })).status).toBe(201);
    expect(await put("same", { ...least, weekly: ["sat", "sun"] })).toMatchObject({
      status: 200,
      headers: { etag: '"2"' },
      json: { version: 2, schedules: 1, replanned: 1, pending: 0 },
    });
    expect((await api.send("GET", "/v1/schedules/refers")).json).toMatchObject({
      version: 2,
      calendar: { name: "same", on: "skip" },
    });
  });

  test("PUT of a calendar honours its preconditions", async () => {
    expect((await put("pre", least, { "if-match": "*" })).status).toBe(412);
    expect((await get("pre")).status).toBe(404);
    expect((await put("pre", least, { "if-none-match": "*" })).status).toBe(201);
    expect((await put("pre", least, { "if-none-match": "*" })).status).toBe(412);
    expect((await put("pre", { dates: [] }, { "if-match": '"7", W/"1"' })).status).toBe(412);
    expect((await put("pre", { dates: [] }, { "if-match": '"1"' })).headers["etag"]).toBe('"2"');
  });

  test.each([
    ["no object", [], [""]],
    ["nothing at all", "", [""]],
    ["a strange field", { ...least, date: [] }, ["date"]],
    ["another name than in the path", { ...least, name: "other" }, ["name"]],
    [
      "faults in several places",
      { dates: ["12-25", "02-30"], weekly: ["sunday"], except: "12-24", description: 7 },
      ["dates[1]", "description", "except", "weekly[0]"],
    ],
    ["every day of the week", { weekly: ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] }, ["weekly"]],
    ["what cannot be stored", { ...least, description: "a\u0000b" }, ["description"]],
  ])("PUT of a calendar with %s is refused, and the faults are listed", async (_, body, paths) => {
    const refused = await put("bad", body);
    expect(refused.status).toBe(400);
    expect(faults(refused.json)).toEqual(paths);
    expect((await get("bad")).status).toBe(404);
  });

  test("A calendar's name follows the rules of keys", async () => {
    for (const name of ["Feiertage Bayern", "休日", "a+b&c=d"]) {
      const created = await put(name);
      expect(created).toMatchObject({
        status: 201,
        headers: { location: `/v1/calendars/${encodeURIComponent(name)}` },
      });
      expect((await get(encodeURIComponent(name))).json).toMatchObject({ name });
    }
    expect(await put("a%23b")).toMatchObject({ status: 400, json: { errors: [{ path: "name" }] } });
  });
});

describe("DELETE of a calendar", () => {
  test("DELETE of a calendar answers 204, and 404 for an unknown one", async () => {
    await put("gone");
    expect((await remove("gone", { "if-match": '"2"' })).status).toBe(412);
    expect((await remove("gone")).status).toBe(204);
    expect((await get("gone")).status).toBe(404);
    expect((await remove("gone")).status).toBe(404);
    expect((await put("gone")).status).toBe(201);
  });

  test("DELETE of a calendar is a conflict while a schedule uses it", async () => {
    await put("used");
    await schedule("user", { name: "used", on: "next" });
    expect((await get("used")).json).toMatchObject({ schedules: 1 });
    expect((await remove("used")).status).toBe(409);
    expect((await api.send("DELETE", "/v1/schedules/user")).status).toBe(204);
    expect((await remove("used")).status).toBe(204);
  });
});

describe("the list of calendars", () => {
  test("Calendars are listed in pages, ordered by name, without rules", async () => {
    for (const name of ["page-b", "page-a", "page-c"]) await put(name);
    const names: string[] = [];
    let cursor = "";
    do {
      const { json } = await api.send("GET", "/v1/calendars", {
        query: `limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
      });
      const page = json as { items: { name: string }[]; cursor?: string };
      expect(page.items.length).toBeLessThanOrEqual(2);
      for (const item of page.items) expect(item).not.toHaveProperty("dates");
      names.push(...page.items.map(({ name }) => name));
      cursor = page.cursor ?? "";
    } while (cursor !== "");
    expect(names).toEqual([...names].sort());
    expect(names.filter((name) => name.startsWith("page-"))).toEqual(["page-a", "page-b", "page-c"]);
  });

  test("The list of calendars refuses the cursor of another list", async () => {
    const cursor = await madeUpCursor(api, "schedules", "a");
    expect((await api.send("GET", "/v1/calendars", { query: `cursor=${cursor}` })).status).toBe(400);
  });
});

test("Reading calendars needs the scope read, editing them the scope write", async () => {
  await put("scoped");
  const as = "read" as const;
  expect((await api.send("GET", "/v1/calendars/scoped", { as })).status).toBe(200);
  expect((await api.send("GET", "/v1/calendars", { as })).status).toBe(200);
  expect((await api.send("PUT", "/v1/calendars/scoped", { as, body: least })).status).toBe(403);
  expect((await api.send("DELETE", "/v1/calendars/scoped", { as })).status).toBe(403);
});

test("A schedule with an unknown calendar is refused with the path of the fault", async () => {
  expect(await schedule("lost", { name: "nowhere" })).toMatchObject({
    status: 422,
    json: { errors: [{ path: "calendar.name" }] },
  });
});

test("A token with a prefix reads how many schedules of its own use a calendar", async () => {
  await put("shared");
  const team = await issueToken(api, { name: "team", prefix: "ours:", scope: "read" });
  for (const key of ["ours:a", "theirs:a", "theirs:b"]) await schedule(key, { name: "shared" });
  const { json } = await api.send("GET", "/v1/calendars/shared", withToken(team));
  expect(json).toMatchObject({ schedules: 1, pending: 0, more: false });
  expect((await get("shared")).json).toMatchObject({ schedules: 3 });
});
