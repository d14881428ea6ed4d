import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { hour } from "../support/instants.ts";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

/** Holds by an admin of all keys, against a team's admin that tries to lift them. */

let api: OwnApi;
let team: Issued;
/** An admin of all keys, which sets the holds and is deleted. */
let maker: Issued;

const target = { queue: "demo" };
const free = { when: "every 1h", target };
const bound = { ...free, group: "shared", tags: ["shared"] };

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  team = await issueToken(api, { name: "team", prefix: "team:" });
});

afterAll(() => api.stop());

/** A schedule with one version outside the group and the tag, and one within them. */
beforeEach(async () => {
  maker = await issueToken(api, { name: `maker ${randomUUID()}` });
  await api.send("DELETE", "/v1/schedules/team:a");
  await api.send("PUT", "/v1/schedules/team:a", { body: free });
  await api.send("PUT", "/v1/schedules/team:a", { body: bound });
});

const soon = () => new Date(api.clock.now().getTime() + hour).toISOString();
const one = "/v1/schedules/team:a";
const batch = (operation: object): Attempt => ["POST", "/v1/schedules:batch", { operations: [operation] }];
const bulk = (verb: string, more: object = {}): Attempt => [
  "POST",
  `/v1/schedules:${verb}`,
  { filter: { prefix: "team:" }, ...more },
];

type Attempt = [method: string, path: string, body?: object];

/** The owner that the hold bears: an invented one, the team's own, and that of the maker. */
const owners = ["night", "team"];

/** The requests of the team that would lift or shorten a hold of the schedule itself. */
const lifting = (owner: string): Attempt[] => [
  ["POST", `${one}/resume`, { owner }],
  ["POST", `${one}/pause`, { owner, until: soon() }],
  ["POST", `${one}/pause`, { owner, reason: "mine now" }],
  batch({ resume: { key: "team:a", owner } }),
  batch({ pause: { key: "team:a", owner, until: soon() } }),
  bulk("resume", { owner }),
  bulk("pause", { owner, until: soon() }),
  ...(owner === "team" ? byOwnName : []),
];

const byOwnName: Attempt[] = [
  ["POST", `${one}/resume`],
  ["PUT", one, { ...bound, paused: false }],
  ["PATCH", one, { paused: false }],
  batch({ put: { key: "team:a", ...bound, paused: false } }),
  batch({ patch: { key: "team:a", paused: false } }),
  batch({ resume: "team:a" }),
  bulk("resume"),
  bulk("patch", { patch: { paused: false } }),
];

/** The requests of the team that would take the schedule out of a held group and a held tag. */
const leaving: Attempt[] = [
  ["PUT", one, free],
  ["PATCH", one, { group: null, tags: [] }],
  ["POST", `${one}/versions/1/restore`],
  batch({ put: { key: "team:a", ...free } }),
  batch({ patch: { key: "team:a", group: null, tags: [] } }),
  bulk("patch", { patch: { group: null, tags: [] } }),
];

/** The status of the request, or that of the schedule in a batch or a bulk action. */
async function attempt([method, path, body]: Attempt, by: Issued): Promise<{ status: number; text: string }> {
  const { status, json } = await api.send(method, path, {
    ...withToken(by),
    ...(body === undefined ? {} : { body }),
  });
  const { results, failures, detail } = json as Answered;
  const [inside] = results ?? failures ?? [];
  if (inside === undefined) return { status, text: detail ?? "" };
  return { status: inside.status, text: inside.error?.detail ?? inside.detail ?? "" };
}

interface Refused {
  status: number;
  detail?: string;
}

interface Answered {
  detail?: string;
  results?: (Refused & { error?: Refused })[];
  failures?: (Refused & { error?: undefined })[];
}

const standing = () => api.sql`
  select h.scope, h.owner, h.reason, h.until, h.reach, s.held_since is not null as held
  from carillon.holds h join carillon.schedules s on s.id = h.schedule_id where s.key = 'team:a' order by scope, owner`;

describe.each(owners)("a hold by an admin of all keys in the name of %s", (owner) => {
  test("A team's admin cannot lift, shorten or take over the hold, also when its maker is deleted", async () => {
    await api.send("POST", `${one}/pause`, { ...withToken(maker), body: { owner, reason: "an attack" } });
    const before = await standing();
    expect(before).toMatchObject([{ owner, reason: "an attack", until: null, reach: "", held: true }]);
    for (const gone of [false, true]) {
      if (gone) expect((await api.send("DELETE", `/v1/tokens/${maker.id}`)).status).toBe(204);
      for (const request of lifting(owner)) {
        const { status, text } = await attempt(request, team);
        expect({ request, status }).toEqual({ request, status: 403 });
        expect(text).toContain(
          `The hold of ${JSON.stringify(owner)} was made by a caller that reaches all keys`,
        );
        expect(await standing()).toEqual(before);
      }
    }
    expect((await api.send("POST", `${one}/resume`, { body: { owner } })).status).toBe(200);
    expect(await standing()).toEqual([]);
  });

  test.each(["group", "tag"])("A team's admin cannot lift the hold of a %s", async (scope) => {
    const path = `/v1/${scope}s/shared`;
    await api.send("POST", `${path}/pause`, { ...withToken(maker), body: { owner, until: soon() } });
    const before = await standing();
    expect(before).toMatchObject([{ scope, owner, reach: "", held: true }]);
    const requests: Attempt[] = [...leaving, ["POST", `${path}/resume`, { owner }]];
    for (const gone of [false, true]) {
      if (gone) await api.send("DELETE", `/v1/tokens/${maker.id}`);
      for (const request of requests) {
        const { status, text } = await attempt(request, team);
        expect({ request, status }).toEqual({ request, status: 403 });
        expect(text).toContain(`on the ${scope}`);
      }
      // A hold for fewer keys beside a wider one of the same owner is a conflict, as before.
      expect((await attempt(["POST", `${path}/pause`, { owner, reason: "mine" }], team)).status).toBe(409);
      expect(await standing()).toEqual(before);
    }
    expect((await api.send("POST", `${path}/resume`, { body: { owner } })).status).toBe(200);
    expect(await standing()).toEqual([]);
    expect((await attempt(["PUT", one, free], team)).status).toBe(200);
  });
});

test("The text of the refusal names whose rights are needed, and the end of the hold", async () => {
  const until = soon();
  await api.send("POST", `${one}/pause`, { ...withToken(maker), body: { owner: "night", until } });
  const { json } = await api.send("POST", `${one}/resume`, { ...withToken(team), body: { owner: "night" } });
  expect(json).toMatchObject({
    type: "urn:carillon:problem:forbidden",
    detail: `The hold of "night" was made by a caller that reaches all keys, and you reach only keys that begin with "team:". It ends at ${until}. A caller that reaches all keys can release or change it.`,
  });
});

test("A hold of a team that an admin of all keys sets again is the admin's from then on", async () => {
  const set = (by: Issued) => attempt(["POST", `${one}/pause`, { owner: "night" }], by);
  const release = () => attempt(["POST", `${one}/resume`, { owner: "night" }], team);
  await set(team);
  expect(await standing()).toMatchObject([{ reach: "team:" }]);
  expect((await set(maker)).status).toBe(200);
  expect(await standing()).toMatchObject([{ reach: "" }]);
  // The same request by the team changes nothing.
  expect((await set(team)).status).toBe(200);
  expect(await standing()).toMatchObject([{ reach: "" }]);
  expect((await release()).status).toBe(403);
});

test("A body with `paused` takes over a hold that a team has set in the name of its caller", async () => {
  await attempt(["POST", `${one}/pause`, { owner: "adminer", reason: "planned" }], team);
  expect(await standing()).toMatchObject([{ owner: "adminer", reach: "team:" }]);
  await api.send("PATCH", one, { body: { paused: true } });
  expect(await standing()).toMatchObject([{ owner: "adminer", reason: "planned", reach: "" }]);
  expect((await attempt(["POST", `${one}/resume`, { owner: "adminer" }], team)).status).toBe(403);
});

test("A team's admin lifts the holds of its own team, and Carillon's own", async () => {
  const child = await issueToken(api, { name: "team:child", prefix: "team:a" });
  await attempt(["POST", `${one}/pause`, { owner: "night" }], child);
  expect((await attempt(["POST", `${one}/resume`, { owner: "night" }], team)).status).toBe(200);
  await attempt(["POST", `${one}/pause`, { owner: "night" }], team);
  const refused = await attempt(["POST", `${one}/resume`, { owner: "night" }], child);
  expect(refused).toMatchObject({
    status: 403,
    text: expect.stringContaining('keys that begin with "team:"'),
  });
  await api.sql`
    insert into carillon.holds (schedule_id, owner, reason, since, shard)
    select id, 'carillon', 'it failed', carillon.clock(), shard from carillon.schedules where key = 'team:a' and deleted_at is null`;
  expect((await attempt(["POST", `${one}/resume`, { owner: "carillon" }], team)).status).toBe(200);
});

test("The board, the group and the schedule say which of the holds a token may release, and for which keys they were set", async () => {
  const writer = await issueToken(api, { name: "penman", scope: "write" });
  const reader = await issueToken(api, { name: "looker", scope: "read" });
  await attempt(["POST", `${one}/pause`, { owner: "wide" }], maker);
  await attempt(["POST", `${one}/pause`, { owner: "near" }], team);
  await attempt(["POST", `${one}/pause`], writer);
  await attempt(["POST", "/v1/groups/shared/pause", { owner: "all" }], maker);
  const board = async (by?: Issued) => {
    const { json } = await api.send("GET", "/v1/holds", { ...withToken(by), query: "prefix=team:" });
    const { items } = json as { items: { owner: string; reach: string | null; releasable: boolean }[] };
    return Object.fromEntries(items.map(({ owner, reach, releasable }) => [owner, [reach, releasable]]));
  };
  const [all, none] = [true, false];
  expect(await board()).toEqual({
    ...{ wide: ["", all], near: ["team:", all], penman: ["", all], all: ["", all] },
  });
  expect(await board(team)).toEqual({
    ...{ wide: ["", none], near: ["team:", all], penman: ["", none], all: ["", none] },
  });
  expect(await board(writer)).toEqual({
    ...{ wide: ["", none], near: ["team:", none], penman: ["", all], all: ["", none] },
  });
  expect(Object.values(await board(reader)).map(([, releasable]) => releasable)).not.toContain(true);
  for (const [by, releasable] of [
    [team, false],
    [maker, true],
  ] as const) {
    const { json } = await api.send("GET", "/v1/groups/shared", withToken(by));
    expect(json).toMatchObject({ holds: [{ owner: "all", releasable }] });
  }
  const { json } = await api.send("GET", one, withToken(team));
  expect((json as { holds: { owner: string; reach: string }[] }).holds).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ owner: "wide", reach: "" }),
      expect.objectContaining({ owner: "near", reach: "team:" }),
    ]),
  );
  for (const owner of ["wide", "near"]) await attempt(["POST", `${one}/resume`, { owner }], maker);
  await attempt(["POST", "/v1/groups/shared/resume", { owner: "all" }], maker);
});
