import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { holdSchema } from "../../lib/api/views/hold-shape.ts";
import { minute } from "../support/instants.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
/** The secret of a token for the keys of one team. */
let team: string;

beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.tick();
  const body = { name: "team", scope: "write", prefix: "team:" };
  team = ((await api.send("POST", "/v1/tokens", { body })).json as { token: string }).token;
  for (const [key, more] of schedules)
    await api.send("PUT", `/v1/schedules/${key}`, {
      body: { when: "every 1h", target: { queue: "demo" }, ...more },
    });
  const pause = (path: string, about: object, parts: SendParts = {}) =>
    api.send("POST", `${path}/pause`, { body: about, ...parts });
  await pause("/v1/schedules/a:1", { reason: "broken", until: later(30) });
  await pause("/v1/schedules/team:1", { owner: "ops" });
  await pause("/v1/groups/orders", { reason: "stocktaking", until: later(20) });
  await pause("/v1/tags/mail", { until: later(30), owner: "ops" });
  await pause("/v1/groups/team-only", {}, { headers: { authorization: `Bearer ${team}` } });
});

afterAll(() => api.stop());

const schedules: [string, object][] = [
  ["a:1", {}],
  ["a:2", { group: "orders" }],
  ["a:3", { group: "orders", tags: ["mail"] }],
  ["team:1", { group: "team-only" }],
  ["team:2", { tags: ["mail"] }],
];

const later = (minutes: number) => new Date(api.clock.now().getTime() + minutes * minute).toISOString();

interface Listed {
  items: { scope: string; name: string; owner: string | null; state: string; members: number | null }[];
  cursor?: string;
}

async function list(query = "", parts: SendParts = { as: "read" }): Promise<Listed> {
  const { status, json } = await api.send("GET", "/v1/holds", { query, ...parts });
  expect(status).toBe(200);
  return json as Listed;
}

const names = ({ items }: Listed) => items.map(({ scope, name }) => `${scope} ${name}`);
const asTeam = (): SendParts => ({ as: "", headers: { authorization: `Bearer ${team}` } });

const all = ["group orders", "schedule a:1", "tag mail", "group team-only", "schedule team:1"];

describe("the board of holds", () => {
  test("The hold of a group or tag is one entry, and holds that end first are at the front", async () => {
    const listed = await list();
    expect(names(listed)).toEqual(all);
    expect(holdSchema.parse(listed.items[0])).toEqual({
      scope: "group",
      name: "orders",
      owner: "adminer",
      prefix: null,
      reason: "stocktaking",
      since: api.clock.now().toISOString(),
      until: later(20),
      secondsLeft: 1_200,
      members: 2,
      state: "binding",
      endedAt: null,
      endedBy: null,
      reach: "",
      releasable: false,
    });
  });

  test.each([1, 2, 3])("Pages of %i holds have each hold once, in the same order", async (limit) => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await list(`limit=${limit}${cursor === undefined ? "" : `&cursor=${cursor}`}`);
      found.push(...names(page));
      cursor = page.cursor;
    } while (cursor !== undefined);
    expect(found).toEqual(all);
  });

  test.each([
    ["scope=schedule", ["schedule a:1", "schedule team:1"]],
    ["scope=group", ["group orders", "group team-only"]],
    ["owner=ops", ["tag mail", "schedule team:1"]],
    ["prefix=a:", ["group orders", "schedule a:1", "tag mail"]],
    ["prefix=team:2", ["tag mail"]],
  ])("The filter %s leaves its holds", async (query, expected) => {
    expect(names(await list(query))).toEqual(expected);
  });

  test("endsBefore leaves the holds that end by themselves before it", async () => {
    expect(names(await list(`endsBefore=${later(25)}`))).toEqual(["group orders"]);
  });

  test("A token with a prefix sees its own holds, and wider ones that hold its schedules without their members", async () => {
    const { items } = await list("", asTeam());
    expect(items.map(({ scope, name, members }) => [scope, name, members])).toEqual([
      ["tag", "mail", null],
      ["group", "team-only", 1],
      ["schedule", "team:1", 1],
    ]);
    expect(await list("prefix=a:", asTeam())).toEqual({ items: [] });
  });

  test("A cursor is refused with another filter, and an unknown field is a fault beside others", async () => {
    const { cursor } = await list("limit=1");
    const refused = await api.send("GET", "/v1/holds", { query: `limit=1&scope=tag&cursor=${cursor}` });
    expect(refused).toMatchObject({ status: 400, json: { errors: [{ path: "cursor" }] } });
    const faulty = await api.send("GET", "/v1/holds", { query: "scope=all&ended=yes&more=1" });
    const { errors } = faulty.json as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path).sort()).toEqual(["ended", "more", "scope"]);
  });

  test("A hold past its end is ending until the tick has taken it off, and then it is among the ended", async () => {
    await api.send("PUT", "/v1/schedules/z:1", { body: { when: "every 1h", target: { queue: "demo" } } });
    await api.send("POST", "/v1/schedules/z:1/pause", { body: { reason: "brief", until: later(1) } });
    const since = api.clock.now().toISOString();
    await api.clock.advance(minute);
    expect((await list("prefix=z:")).items).toMatchObject([{ state: "ending", secondsLeft: 0 }]);
    await api.tick();
    expect((await list("prefix=z:")).items).toEqual([]);
    expect((await list("prefix=z:&ended=true")).items).toMatchObject([
      { scope: "schedule", name: "z:1", state: "ended", reason: "brief", since, endedAt: later(0) },
    ]);
  });

  test("A released hold of a group is one ended entry with its reason and the actor that released it", async () => {
    await api.send("POST", "/v1/groups/orders/resume");
    expect(names(await list("prefix=a:"))).toEqual(["schedule a:1", "tag mail"]);
    const { items } = await list("ended=true&scope=group");
    expect(items).toMatchObject([
      {
        scope: "group",
        name: "orders",
        owner: "adminer",
        reason: "stocktaking",
        members: null,
        endedBy: "adminer",
      },
    ]);
    expect(await list("ended=true", asTeam())).toEqual({ items: [] });
  });

  test("Ended holds are listed in pages, newest first", async () => {
    const [first] = (await list("ended=true&limit=1")).items;
    const { cursor } = await list("ended=true&limit=1");
    const rest = await list(`ended=true&limit=10&cursor=${cursor}`);
    expect(first?.name).toBe("orders");
    expect(rest.items.map(({ name }) => name)).toEqual(["z:1"]);
  });

  test("The ended hold of a schedule that a bulk pause put on has its start, reason and end", async () => {
    await api.send("PUT", "/v1/schedules/bulk:1", { body: { when: "every 1h", target: { queue: "demo" } } });
    await api.clock.advance(minute);
    const since = api.clock.now().toISOString();
    const body = { filter: { prefix: "bulk:" }, reason: "migration", until: later(30) };
    await api.send("POST", "/v1/schedules:pause", { body });
    await api.clock.advance(minute);
    await api.send("POST", "/v1/schedules/bulk:1/resume", {});
    expect((await list("prefix=bulk:&ended=true")).items).toMatchObject([
      { name: "bulk:1", state: "ended", owner: "adminer", reason: "migration", since, until: body.until },
    ]);
  });

  test("A resume by filter is one ended hold with the number of schedules that it released", async () => {
    for (const key of ["many:1", "many:2"])
      await api.send("PUT", `/v1/schedules/${key}`, {
        body: { when: "every 1h", target: { queue: "demo" } },
      });
    await api.clock.advance(minute);
    const since = api.clock.now().toISOString();
    const filter = { prefix: "many:" };
    await api.send("POST", "/v1/schedules:pause", { body: { filter, reason: "migration" } });
    await api.clock.advance(minute);
    await api.send("POST", "/v1/schedules:resume", { body: { filter } });
    const ended = { endedAt: api.clock.now().toISOString(), endedBy: "adminer", state: "ended" };
    const released = {
      scope: "filter",
      name: "prefix many:",
      members: 2,
      owner: "adminer",
      reason: "migration",
    };
    expect((await list("prefix=many:&ended=true")).items).toMatchObject([{ ...released, since, ...ended }]);
    expect((await list("prefix=man&ended=true")).items).toHaveLength(1);
    expect((await list("prefix=other:&ended=true")).items).toEqual([]);
    expect((await list("ended=true", asTeam())).items).toEqual([]);
  });

  test("A hold of a group or tag counts the schedules that it covers now, and no deleted ones", async () => {
    const put = (key: string) =>
      api.send("PUT", `/v1/schedules/${key}`, {
        body: { when: "every 1h", target: { queue: "demo" }, group: "counted", tags: ["counted"] },
      });
    const counts = async () =>
      (await list("prefix=counted:")).items.map(({ scope, members }) => [scope, members]);
    for (const n of [1, 2, 3]) await put(`counted:${n}`);
    await api.send("POST", "/v1/groups/counted/pause", {});
    await api.send("POST", "/v1/tags/counted/pause", {});
    for (const n of [1, 2]) await api.send("DELETE", `/v1/schedules/counted:${n}`, {});
    const labels = (count: number) => [
      ["group", count],
      ["tag", count],
    ];
    expect(await counts()).toEqual(labels(1));
    await put("counted:4");
    expect(await counts()).toEqual(labels(2));
  });

  test("A resume by filter that released nothing is no ended hold", async () => {
    await api.send("PUT", "/v1/schedules/free:1", { body: { when: "every 1h", target: { queue: "demo" } } });
    await api.send("POST", "/v1/schedules:resume", { body: { filter: { prefix: "free:" } } });
    expect((await list("prefix=free:&ended=true")).items).toEqual([]);
  });
});
