import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Issued, issueToken, withToken } from "./issued-token.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

/** Names of tokens, which a team tries to learn of other teams. */

let api: OwnApi;
let ours: Issued;
let theirs: Issued;

/** Names of a token of another team, of one of all keys, of one made and deleted, and of none. */
const names = ["payroll", "platform", "gone", "unknown"];

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  ours = await issueToken(api, { name: "ours", prefix: "ours:" });
  theirs = await issueToken(api, { name: "theirs", prefix: "theirs:" });
  await issueToken(api, { name: "payroll", scope: "read" }, theirs);
  await issueToken(api, { name: "platform", scope: "read" });
  const gone = await issueToken(api, { name: "gone", scope: "read" }, theirs);
  await api.send("DELETE", `/v1/tokens/${gone.id}`);
});

afterAll(() => api.stop());

/** The answers to each name, without what every answer has of its own. */
async function answers(send: (name: string) => ReturnType<OwnApi["send"]>): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const name of names) {
    const { status, headers, body } = await send(name);
    const own = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|carillon_\w+|\d{4}-\d\d-[\d:.T]+Z/g;
    const same = (text: string) => text.replaceAll(name, "NAME").replaceAll(own, "OWN");
    found.push([status, Object.keys(headers).sort(), same(body)]);
  }
  return found;
}

test.each([
  [
    "a new token",
    (name: string) => api.send("POST", "/v1/tokens", { ...withToken(ours), body: { name, scope: "read" } }),
  ],
  [
    "a new token of a longer prefix",
    (name: string) =>
      api.send("POST", "/v1/tokens", {
        ...withToken(ours),
        body: { name, scope: "write", prefix: "ours:x:" },
      }),
  ],
  [
    "a new token of the other team's prefix",
    (name: string) =>
      api.send("POST", "/v1/tokens", {
        ...withToken(ours),
        body: { name, scope: "read", prefix: "theirs:" },
      }),
  ],
  ["a read by name", (name: string) => api.send("GET", `/v1/tokens/${name}`, withToken(ours))],
  ["a rotation by name", (name: string) => api.send("POST", `/v1/tokens/${name}/rotate`, withToken(ours))],
  ["a removal by name", (name: string) => api.send("DELETE", `/v1/tokens/${name}`, withToken(ours))],
  [
    "the audit of a name",
    (name: string) => api.send("GET", "/v1/audit", { ...withToken(ours), query: `actor=${name}` }),
  ],
])("%s has the same answer to a team, whether another token has the name or not", async (_, send) => {
  const [first, ...others] = await answers(send);
  for (const other of others) expect(other).toEqual(first);
});

test("A token of another team is as unknown as none, by its id too", async () => {
  const requests = [
    ["GET", ""],
    ["POST", "/rotate"],
    ["DELETE", ""],
  ] as const;
  for (const [method, path] of requests) {
    const [foreign, none] = await Promise.all(
      [theirs.id, randomUUID()].map(async (id) => {
        const { status, body } = await api.send(method, `/v1/tokens/${id}${path}`, withToken(ours));
        return [status, body.replaceAll(id, "ID").replaceAll(/request-\d+/g, "")];
      }),
    );
    expect(foreign).toEqual(none);
    expect(foreign?.[0]).toBe(404);
  }
});

test("Two tokens of one prefix never share a name", async () => {
  for (const prefix of ["ours:", null]) {
    const body = { name: "twice", scope: "read", prefix };
    expect((await api.send("POST", "/v1/tokens", { body })).status).toBe(201);
    expect(await api.send("POST", "/v1/tokens", { body })).toMatchObject({
      status: 409,
      json: { detail: 'A token of this prefix with the name "twice" exists already.' },
    });
  }
});

test("A list in pages has each token once, also tokens that share a name", async () => {
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const query = `limit=1${cursor === undefined ? "" : `&cursor=${cursor}`}`;
    const { json } = await api.send("GET", "/v1/tokens", { query });
    const page = json as { items: { id: string; name: string }[]; cursor?: string };
    seen.push(...page.items.map(({ id, name }) => `${name} ${id}`));
    cursor = page.cursor;
  } while (cursor !== undefined);
  const rows = await api.sql<{ id: string; name: string }[]>`select id, name from carillon.tokens`;
  expect(seen.toSorted()).toEqual(rows.map(({ id, name }) => `${name} ${id}`).toSorted());
  expect(seen.filter((each) => each.startsWith("twice "))).toHaveLength(2);
});

test("The audit tells a team's token from another of the same name", async () => {
  const body = { when: "every 1h", target: { queue: "demo" } };
  const platform = await issueToken(api, { name: "platform", scope: "write", prefix: "ours:y:" }, ours);
  await api.send("PUT", "/v1/schedules/ours:y:a", { ...withToken(platform), body });
  const { json } = await api.send("GET", "/v1/audit", { query: "subject=ours:y:a" });
  expect(json).toMatchObject({
    items: [{ actor: "platform", origin: { token: platform.id, prefix: "ours:y:" } }],
  });
});
