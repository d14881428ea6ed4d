import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { DatabaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { monday } from "../support/instants.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let clock: DatabaseClock;

const begin = new Date(monday);

beforeAll(async () => {
  api = await ownApi();
  clock = api.clock;
  api.betweenRequestsMs = 0;
  await api.tick();
});

afterAll(() => api.stop());

interface Entry {
  id: string;
  at: string;
  actor: string;
  action: string;
  subject: string;
  version: number | null;
  prefix: string | null;
  origin: unknown;
  changes: unknown[];
  detail: unknown;
}

async function page(query: string, parts: SendParts = {}): Promise<{ items: Entry[]; cursor?: string }> {
  const answer = await api.send("GET", "/v1/audit", { ...parts, query });
  expect(answer.status).toBe(200);
  return answer.json as { items: Entry[]; cursor?: string };
}

const entries = async (query: string, parts?: SendParts) => (await page(query, parts)).items;
const put = (key: string, body: object = {}, parts: SendParts = {}) =>
  api.send("PUT", `/v1/schedules/${key}`, {
    ...parts,
    body: { when: "every 1h", target: { queue: "demo" }, ...body },
  });

describe("the audit of a schedule", () => {
  test("Each change of a schedule is recorded with its actor, origin, and values before and after; newest first", async () => {
    await put("told", { payload: { n: 1 } }, { as: "write", headers: { "user-agent": "x" } });
    await api.send("PATCH", "/v1/schedules/told", { body: { when: "every 5m", payload: { n: 2 } } });
    await api.send("POST", "/v1/schedules/told/pause", { body: { reason: "why" } });
    await api.send("DELETE", "/v1/schedules/told");
    const told = await entries("subject=told");
    expect(told.map(({ action, actor, version }) => [action, actor, version])).toEqual([
      ["schedule.deleted", "adminer", 4],
      ["schedule.paused", "adminer", 3],
      ["schedule.patched", "adminer", 2],
      ["schedule.created", "writeer", 1],
    ]);
    const [deleted, paused, patched, created] = told;
    expect(created).toMatchObject({
      at: begin.toISOString(),
      prefix: null,
      origin: { via: "api", token: expect.any(String), request: "request-1", ip: "127.0.0.1", agent: "test" },
      changes: [
        { path: "", before: null, after: { when: "every 1h", target: { queue: "demo" } } },
        { path: "payload", before: null, after: { n: 1 } },
      ],
    });
    expect(patched?.changes).toEqual([
      { path: "when", before: "every 1h", after: "every 5m" },
      { path: "payload.n", before: 1, after: 2 },
    ]);
    expect(paused).toMatchObject({ changes: [], detail: { owner: "adminer", reason: "why", until: null } });
    expect(deleted?.changes).toMatchObject([{ path: "", before: { when: "every 5m" }, after: null }]);
  });

  test("The audit shows no secret and no large payload", async () => {
    const webhook = (secret: string) => ({
      target: { webhook: { url: "https://example.com/", headers: { authorization: secret }, secret } },
    });
    await put("secret", { ...webhook(`whsec_${"a".repeat(40)}`), payload: "x".repeat(3_000) });
    await put("secret", { ...webhook(`whsec_${"b".repeat(40)}`), payload: "y".repeat(3_000) });
    await api.send("DELETE", "/v1/schedules/secret");
    const told = await entries("subject=secret");
    expect(told).toHaveLength(3);
    expect(JSON.stringify(told)).not.toMatch(/whsec_|xxxx|yyyy/);
    expect(told[1]?.changes).toContainEqual({ path: "payload" });
    expect(told[2]?.changes).toContainEqual({ path: "payload" });
  });

  test("An odd User-Agent is recorded as text that can be stored", async () => {
    const event = { as: "write" as const };
    await put("odd", {}, event);
    for (const [agent, kept] of [
      ["nul\u0000", "nul "],
      ["half\ud800", "half\ufffd"],
      ["x".repeat(5_000), "x".repeat(300)],
      ["line\nbreak", "line break"],
    ] as const) {
      const answer = await api.send("POST", "/v1/schedules/odd/fire", { ...event, agent });
      expect(answer.status).toBe(202);
      const [fired] = await entries("subject=odd&limit=1");
      expect(fired?.origin).toMatchObject({ agent: kept });
    }
  });

  test("A change without a caller is recorded with Carillon as its actor", async () => {
    await put("owned", { when: "every 1m" });
    await api.send("POST", "/v1/schedules/owned/pause", {
      body: { until: new Date(begin.getTime() + 60_000).toISOString() },
    });
    await clock.advance(3 * 60_000);
    await api.tick();
    await clock.setNow(begin);
    expect(await entries("subject=owned&action=schedule.resumed")).toMatchObject([
      { actor: "carillon", origin: null },
    ]);
  });
});

test("Changes of groups, tags, calendars and limits are recorded with their former state", async () => {
  const pause = (body: object) => api.send("POST", "/v1/groups/g/pause", { body });
  await put("member", { group: "g" });
  await pause({ reason: "one" });
  await pause({ reason: "two" });
  await api.send("POST", "/v1/groups/g/resume");
  await api.send("POST", "/v1/groups/g/cancel", { body: { reason: "over" } });
  const group = await entries("subject=g");
  expect(group.every(({ prefix }) => prefix === "")).toBe(true);
  expect(group.map(({ action, detail }) => [action, detail])).toEqual([
    ["group.cancelled", { reason: "over" }],
    ["group.resume-completed", { owner: "adminer", members: 1 }],
    ["group.resumed", { owner: "adminer", before: { reason: "two", until: null } }],
    ["group.pause-completed", { owner: "adminer", members: 1 }],
    [
      "group.paused",
      { owner: "adminer", reason: "two", until: null, before: { reason: "one", until: null } },
    ],
    ["group.pause-completed", { owner: "adminer", members: 1 }],
    ["group.paused", { owner: "adminer", reason: "one", until: null, before: null }],
  ]);
  const whole = { via: "api", token: expect.any(String), ip: "127.0.0.1" };
  for (const each of [...group, ...(await entries("subject=member"))])
    expect(each.origin).toMatchObject(whole);

  const calendar = (body: object) => api.send("PUT", "/v1/calendars/days", { body });
  await calendar({ dates: ["12-25"] });
  await calendar({ dates: ["12-26"] });
  await calendar({
    dates: Array.from({ length: 900 }, (_, n) => `${2030 + (n % 150)}-01-1${Math.floor(n / 150)}`),
  });
  await api.send("DELETE", "/v1/calendars/days");
  const days = await entries("subject=days");
  expect(days.map(({ action, version }) => [action, version])).toEqual([
    ["calendar.deleted", 3],
    ["calendar.replaced", 3],
    ["calendar.replaced", 2],
    ["calendar.created", 1],
  ]);
  expect(days[2]?.detail).toMatchObject({
    changes: [{ path: "rules.dates", before: ["12-25"], after: ["12-26"] }],
  });
  expect(days[1]?.detail).toEqual({ rulesChanged: true, changes: [{ path: "rules.dates" }] });
});

describe("the list of the audit", () => {
  test("The audit is filtered by subject, actor, action and time, alone and combined", async () => {
    for (const [n, key] of ["f-1", "f-2", "f-3"].entries()) {
      await clock.setNow(new Date(begin.getTime() + (n + 10) * 60_000));
      await put(key, {}, { as: n === 1 ? "write" : "admin" });
    }
    await clock.setNow(begin);
    const keys = async (query: string) => (await entries(query)).map(({ subject }) => subject);
    const time = (minutes: number) => new Date(begin.getTime() + minutes * 60_000).toISOString();
    expect(await keys(`from=${time(10)}`)).toEqual(["f-3", "f-2", "f-1"]);
    expect(await keys(`from=${time(11)}&to=${time(12)}`)).toEqual(["f-2"]);
    expect(await keys("prefix=f-")).toEqual(["f-3", "f-2", "f-1"]);
    expect(await keys("prefix=f-&actor=adminer")).toEqual(["f-3", "f-1"]);
    expect(await keys("prefix=f-&action=schedule.created&actor=writeer")).toEqual(["f-2"]);
    expect(await keys(`actor=adminer&from=${time(10)}`)).toEqual(["f-3", "f-1"]);
    expect(await keys(`action=schedule.created&to=${time(11)}&from=${time(10)}`)).toEqual(["f-1"]);
    expect(await keys("subject=f-1&actor=writeer")).toEqual([]);
    expect(await keys("action=nothing")).toEqual([]);
  });

  test.each(["", "actor=adminer", "action=schedule.fired", "prefix=paged", "subject=paged"])(
    "The next page of the audit begins where the page before ended: %j",
    async (filter) => {
      if (filter === "") {
        await put("paged");
        for (let n = 0; n < 12; n++) await api.send("POST", "/v1/schedules/paged/fire");
      }
      const whole = await entries(`${filter}&limit=100`);
      const read: Entry[] = [];
      let query = `${filter}&limit=5`;
      for (let n = 0; n < 100; n++) {
        const { items, cursor } = await page(query);
        expect(items.length).toBeLessThanOrEqual(5);
        read.push(...items);
        if (cursor === undefined) break;
        query = `${filter}&limit=5&cursor=${cursor}`;
      }
      expect(read.slice(0, 100)).toEqual(whole);
      expect(new Set(read.map(({ id }) => id)).size).toBe(read.length);
    },
  );

  test("Only admins read the audit, and unknown parameters are refused", async () => {
    expect((await api.send("GET", "/v1/audit", { as: "write" })).status).toBe(403);
    for (const query of ["who=me", "from=yesterday", "cursor=x", "limit=101", "subject=%00", "subject="])
      expect((await api.send("GET", "/v1/audit", { query })).status).toBe(400);
  });
});

test("A team's admin sees audit entries of its own keys only", async () => {
  const issue = async (prefix: string) => {
    const { json } = await api.send("POST", "/v1/tokens", {
      body: { name: `${prefix}admin`, scope: "admin", prefix },
    });
    return { headers: { authorization: `Bearer ${(json as { token: string }).token}` } };
  };
  const [ours, theirs] = [await issue("ours:"), await issue("theirs:")];
  for (const [prefix, as] of [
    ["ours:", ours],
    ["theirs:", theirs],
  ] as const) {
    await put(`${prefix}a`, { group: "both" }, as);
    await api.send("POST", "/v1/groups/both/pause", as);
  }
  await api.send("PATCH", "/v1/schedules/ours:a", { body: { tags: ["x"] } });
  await api.send("POST", "/v1/groups/both/pause", { body: { reason: "all" } });
  // A group may have a name that begins like a team's keys.
  await api.send("POST", "/v1/groups/ours:group/pause");
  const seen = await entries("limit=100", ours);
  expect(seen.map(({ action, subject, actor }) => [action, subject, actor])).toEqual([
    ["schedule.paused", "ours:a", "adminer"],
    ["schedule.patched", "ours:a", "adminer"],
    ["group.pause-completed", "both", "ours:admin"],
    ["schedule.paused", "ours:a", "ours:admin"],
    ["group.paused", "both", "ours:admin"],
    ["schedule.created", "ours:a", "ours:admin"],
    ["token.created", "ours:admin", "adminer"],
  ]);
  expect(JSON.stringify(seen)).not.toContain("theirs");
  for (const query of ["prefix=theirs:", "subject=theirs:a", "actor=theirs:admin", "subject=days"])
    expect(await entries(query, ours)).toEqual([]);
  // The same result through the index, which is used where a prefix is rare.
  expect(await entries("prefix=ours:&limit=100")).toEqual(seen);
});
