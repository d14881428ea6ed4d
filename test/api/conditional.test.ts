import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

/** One API with the default setting, and one that refuses blind overwrites. */
let api: OwnApi;
let strict: OwnApi;

beforeAll(async () => {
  [api, strict] = await Promise.all([ownApi(), ownApi({ REQUIRE_IF_MATCH: "true" })]);
});

afterAll(() => Promise.all([api.stop(), strict.stop()]));

interface Guarded {
  name: string;
  path: string;
  body: (n: number) => object;
}

const things: readonly Guarded[] = [
  {
    name: "a schedule",
    path: "/v1/schedules/guarded",
    body: (n) => ({ when: "every 1h", target: { queue: "demo" }, payload: n }),
  },
  { name: "a calendar", path: "/v1/calendars/guarded", body: (n) => ({ dates: [`2027-01-0${n}`] }) },
  { name: "limits", path: "/v1/limits/queue/guarded", body: (n) => ({ concurrency: n }) },
];

/** Creates the resource unless it exists, and returns its ETag. */
async function stands(of: OwnApi, { path, body }: Guarded): Promise<string> {
  const put = await of.send("PUT", path, { body: body(1), headers: { "if-none-match": "*" } });
  const read = await of.send("GET", path);
  expect(read.status, `${put.status}`).toBe(200);
  return read.headers["etag"] ?? "";
}

async function gone(of: OwnApi, { path }: Guarded): Promise<void> {
  await of.send("DELETE", path, { headers: { "if-match": "*" } });
}

describe.each(things)("$name", (thing) => {
  const { path, body } = thing;
  const put = (headers: Record<string, string>, n = 2) => api.send("PUT", path, { body: body(n), headers });
  const other = (etag: string) => `"${Number(etag.slice(1, -1)) + 7}"`;

  test("The ETag of a resource is its version, which rises with each change and is in each answer", async () => {
    await gone(api, thing);
    const first = await stands(api, thing);
    const changed = await put({});
    expect(changed.headers["etag"]).not.toBe(first);
    expect((await api.send("GET", path)).headers["etag"]).toBe(changed.headers["etag"]);
  });

  test.each<[string, number, (etag: string) => Record<string, string>]>([
    ["its version", 200, (etag) => ({ "if-match": etag })],
    ["a list with its version", 200, (etag) => ({ "if-match": `"77", ${etag} ,"x"` })],
    ["any version", 200, () => ({ "if-match": "*" })],
    ["another version", 412, (etag) => ({ "if-match": other(etag) })],
    ["its version as a weak tag", 412, (etag) => ({ "if-match": `W/${etag}` })],
    ["a tag that was never given out", 412, () => ({ "if-match": '"abc"' })],
    ["its absence", 412, () => ({ "if-none-match": "*" })],
    ["both", 412, (etag) => ({ "if-match": etag, "if-none-match": "*" })],
    ["an invalid tag", 400, () => ({ "if-match": "3" })],
    ["the absence of a version", 400, (etag) => ({ "if-none-match": etag })],
  ])("Replacing an existing resource on condition of %s answers %i", async (_what, status, headers) => {
    await gone(api, thing);
    const etag = await stands(api, thing);
    expect((await put(headers(etag))).status).toBe(status);
    const now = (await api.send("GET", path)).headers["etag"];
    if (status === 200) expect(now).not.toBe(etag);
    else expect(now).toBe(etag);
  });

  test.each<[string, boolean, Record<string, string>]>([
    ["any version", false, { "if-match": "*" }],
    ["a version", false, { "if-match": '"99"' }],
    ["its absence", true, { "if-none-match": "*" }],
    ["nothing", true, {}],
  ])(
    "A put of a missing resource on condition of %s creates it only if the condition allows",
    async (_what, made, headers) => {
      await gone(api, thing);
      const { status } = await put(headers);
      expect(status).toBe(made ? (path.includes("limits") ? 200 : 201) : 412);
      await gone(api, thing);
    },
  );

  test.each<[string, number, (etag: string) => Record<string, string>]>([
    ["another version", 412, (etag) => ({ "if-match": other(etag) })],
    ["an invalid tag", 400, () => ({ "if-match": "x" })],
    ["its version", 204, (etag) => ({ "if-match": etag })],
  ])("Deleting a resource on condition of %s answers %i", async (_what, status, headers) => {
    await gone(api, thing);
    const etag = await stands(api, thing);
    expect((await api.send("DELETE", path, { headers: headers(etag) })).status).toBe(status);
    const again = await api.send("DELETE", path, { headers: headers(etag) });
    expect(again.status).toBe(status === 204 ? 404 : status);
  });

  test("Only one of two writers that have read the same version changes the resource", async () => {
    await gone(api, thing);
    const etag = await stands(api, thing);
    const both = await Promise.all([put({ "if-match": etag }, 2), put({ "if-match": etag }, 3)]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
  });

  test("A deployment that refuses blind overwrites requires a precondition", async () => {
    const bare = await strict.send("PUT", path, { body: body(1) });
    expect(bare).toMatchObject({
      status: 428,
      json: {
        type: "urn:carillon:problem:precondition-required",
        detail: expect.stringContaining("If-None-Match: *"),
      },
    });
    const etag = await stands(strict, thing);
    expect((await strict.send("PUT", path, { body: body(2) })).status).toBe(428);
    expect((await strict.send("DELETE", path)).status).toBe(428);
    const changed = await strict.send("PUT", path, { body: body(2), headers: { "if-match": etag } });
    expect(changed.status).toBe(200);
    const headers = { "if-match": changed.headers["etag"] ?? "" };
    expect((await strict.send("DELETE", path, { headers })).status).toBe(204);
  });
});

describe("preconditions of a schedule", () => {
  const path = "/v1/schedules/verbs";
  const body = { when: "every 1h", target: { queue: "demo" } };
  const verbs: readonly [string, string, object | undefined][] = [
    ["PATCH", path, { payload: 1 }],
    ["POST", `${path}/pause`, { reason: "why" }],
    ["POST", `${path}/resume`, undefined],
    ["POST", `${path}/versions/1/restore`, undefined],
  ];

  test.each(verbs)("%s %s with another version does not change the schedule", async (method, at, sent) => {
    await api.send("PUT", path, { body });
    const { headers } = await api.send("GET", path);
    const parts = sent === undefined ? {} : { body: sent };
    const stale = await api.send(method, at, { ...parts, headers: { "if-match": '"999"' } });
    expect(stale.status).toBe(412);
    expect((await api.send("GET", path)).headers["etag"]).toBe(headers["etag"]);
    const own = await api.send(method, at, { ...parts, headers: { "if-match": headers["etag"] ?? "" } });
    expect(own.status).toBe(200);
    expect(own.headers["etag"]).toBe((await api.send("GET", path)).headers["etag"]);
  });

  test("A deployment that refuses blind overwrites requires preconditions only of overwriting requests", async () => {
    const created = await strict.send("POST", "/v1/schedules", { body: { ...body, key: "verbs" } });
    expect(created.status).toBe(201);
    expect((await strict.send("PATCH", path, { body: { payload: 1 } })).status).toBe(428);
    expect((await strict.send("POST", `${path}/versions/1/restore`)).status).toBe(428);
    for (const verb of ["pause", "resume"])
      expect((await strict.send("POST", `${path}/${verb}`)).status).toBe(200);
    expect((await strict.send("POST", `${path}/fire`)).status).toBe(202);
  });

  test("`If-None-Match: *` restores only a deleted schedule, also where preconditions are required", async () => {
    const gone = "/v1/schedules/gone";
    const headers = { "if-none-match": "*" };
    const restore = () => strict.send("POST", `${gone}/versions/1/restore`, { headers });
    const created = await strict.send("PUT", gone, { body, headers });
    expect((await restore()).status).toBe(412);
    await strict.send("DELETE", gone, { headers: { "if-match": created.headers["etag"] ?? "" } });
    expect(await restore()).toMatchObject({
      status: 201,
      headers: { etag: '"1"', location: gone },
      json: { key: "gone", version: 1, changes: { before: [] } },
    });
    expect((await restore()).status).toBe(412);
  });

  test("A caller without the scope to write gets 403, not the hint about preconditions", async () => {
    expect((await strict.send("PUT", path, { body, as: "read" })).status).toBe(403);
  });
});

test("A setting that is neither true nor false is refused at startup", async () => {
  await expect(ownApi({ REQUIRE_IF_MATCH: "yes" })).rejects.toThrow("REQUIRE_IF_MATCH");
});
