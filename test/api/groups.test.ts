import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { minute } from "../support/instants.ts";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
});

afterAll(async () => {
  await api.stop();
});

const put = (key: string, belonging: object) =>
  api.send("PUT", `/v1/schedules/${key}`, {
    body: { when: "every 5m", target: { queue: "demo" }, ...belonging },
  });
const read = async (key: string) => (await api.send("GET", `/v1/schedules/${key}`)).json;

describe.each([
  ["group", (name: string) => ({ group: name })],
  ["tag", (name: string) => ({ tags: [name, "another"] })],
])("/v1/%ss/{name}", (scope, belonging) => {
  const path = `/v1/${scope}s`;

  test("A pause or a resume of a group or a tag covers all its members, and the answer has their number", async () => {
    for (const key of ["a", "b", "c"]) await put(`${scope}-${key}`, belonging("shop"));
    const body = { reason: "stocktaking", until: "2100-01-01T00:00:00Z" };
    const paused = await api.send("POST", `${path}/shop/pause`, { body, as: "write" });
    expect(paused).toMatchObject({ status: 200 });
    const hold = {
      owner: "writeer",
      prefix: null,
      reason: "stocktaking",
      until: "2100-01-01T00:00:00.000Z",
      since: expect.any(String),
      progress: "set",
      members: 3,
      releasable: true,
    };
    expect(paused.json).toEqual({ done: 3, hold });
    expect(await read(`${scope}-a`)).toMatchObject({
      state: "paused",
      holds: [{ owner: "writeer", reason: "stocktaking", [scope]: "shop" }],
    });
    expect((await put(`${scope}-later`, belonging("shop"))).json).toMatchObject({ state: "paused" });
    expect((await api.send("GET", `${path}/shop`, { query: "limit=3" })).json).toMatchObject({
      [scope]: "shop",
      holds: [{ ...hold, members: 4 }],
      schedules: [{ key: `${scope}-a` }, { key: `${scope}-b` }, { key: `${scope}-c` }],
      cursor: expect.any(String),
    });
    const resumed = await api.send("POST", `${path}/shop/resume`, { as: "write" });
    expect([resumed.status, resumed.json]).toEqual([200, { done: 4, hold: null }]);
    expect(await read(`${scope}-later`)).toMatchObject({ state: "active", holds: [] });
  });

  test("The schedules of a group or a tag are listed in pages, without payloads", async () => {
    for (let n = 0; n < 5; n++) await put(`${scope}-page-${n}`, { ...belonging("paged"), payload: n });
    const keys: string[] = [];
    let cursor = "";
    for (let page = 0; page < 3; page++) {
      const { json } = await api.send("GET", `${path}/paged`, {
        query: `limit=2${cursor === "" ? "" : `&cursor=${cursor}`}`,
      });
      const { schedules, cursor: next } = json as { schedules: { key: string }[]; cursor?: string };
      expect(schedules.every((each) => !("payload" in each))).toBe(true);
      keys.push(...schedules.map(({ key }) => key));
      cursor = next ?? "";
    }
    expect(keys).toEqual([0, 1, 2, 3, 4].map((n) => `${scope}-page-${n}`));
    expect(cursor).toBe("");
  });

  test("The unsettled jobs of a group or a tag are listed, and a cancel cancels all of them", async () => {
    const when = new Date(api.clock.now().getTime() + minute).toISOString();
    for (const key of ["x", "y"]) await put(`${scope}-${key}`, { ...belonging("done"), when: `at ${when}` });
    await api.tick();
    const { json } = await api.send("GET", `${path}/done`);
    expect(json).toMatchObject({
      jobs: [
        { key: `${scope}-x`, state: "waiting", waitsFor: "time" },
        { key: `${scope}-y`, state: "waiting", waitsFor: "time" },
      ],
      moreJobs: false,
    });
    expect(await api.send("POST", `${path}/done/cancel`, { as: "read" })).toMatchObject({ status: 403 });
    expect(await api.send("POST", `${path}/done/cancel`, { body: { why: "" } })).toMatchObject({
      status: 400,
      json: { errors: [{ path: "why" }] },
    });
    expect(await api.send("POST", `${path}/done/cancel`, { query: "cursor=x" })).toMatchObject({
      status: 400,
    });
    const body = { reason: "sold" };
    const cancelled = await api.send("POST", `${path}/done/cancel`, { body, as: "write" });
    expect([cancelled.status, cancelled.json]).toEqual([200, { done: 2, running: 0, failed: 0 }]);
    expect(await api.send("GET", `${path}/done`)).toMatchObject({ status: 404 });
    expect((await api.send("POST", `${path}/done/cancel`)).json).toEqual({ done: 0, running: 0, failed: 0 });
  });

  test("A group or a tag without schedules and holds answers 404", async () => {
    expect(await api.send("GET", `${path}/nobodys`)).toMatchObject({ status: 404 });
    expect((await api.send("POST", `${path}/nobodys/resume`)).json).toEqual({ done: 0, hold: null });
    expect((await api.send("POST", `${path}/nobodys/pause`)).json).toMatchObject({ done: 0 });
    expect(await api.send("GET", `${path}/nobodys`)).toMatchObject({ status: 200 });
  });

  test("A hold of a group or a tag needs the scope write, and one of another owner the scope admin", async () => {
    const body = { owner: "somebody" };
    expect(await api.send("POST", `${path}/mine/pause`, { body, as: "write" })).toMatchObject({
      status: 403,
    });
    expect(await api.send("POST", `${path}/mine/resume`, { body, as: "write" })).toMatchObject({
      status: 403,
    });
    expect(await api.send("POST", `${path}/mine/pause`, { as: "read" })).toMatchObject({ status: 403 });
    expect((await api.send("POST", `${path}/mine/pause`, { body })).json).toMatchObject({
      hold: { owner: "somebody" },
    });
    expect((await api.send("GET", `${path}/mine`, { as: "read" })).status).toBe(200);
  });

  test("A hold of a group or a tag is refused with an invalid body, or with the cursor of another hold", async () => {
    const refused = async (name: string, verb: string, parts: object) => {
      const { status, json } = await api.send("POST", `${path}/${name}/${verb}`, parts);
      const { errors } = json as { errors: { path: string }[] };
      return [status, errors.map((fault) => fault.path)];
    };
    expect(await refused("shop", "pause", { body: { until: "2001-01-01T00:00:00Z" } })).toEqual([
      400,
      ["until"],
    ]);
    expect(await refused("shop", "pause", { body: { untl: null } })).toEqual([400, ["untl"]]);
    expect(await refused("sh%3Fop", "pause", {})).toEqual([400, [scope]]);
    expect(await refused("shop", "resume", { query: "cursor=x" })).toEqual([400, ["cursor"]]);
    await api.send("POST", `${path}/shop/pause`, { body: { reason: "one" } });
    const query = `cursor=${await madeUpCursor(api, "holds", "9999999")}`;
    expect(await refused("shop", "pause", { query, body: { reason: "one" } })).toEqual([409, ["cursor"]]);
    expect(await refused("shop", "resume", { query })).toEqual([409, ["cursor"]]);
  });
});
