import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import * as z from "zod";
import { type Issued, issueToken, withToken } from "../api/issued-token.ts";
import { type OwnApi, ownApi } from "../api/own-api.ts";

/** Commands of a database role that is restricted to the keys of a team, against another team and an operator. */

let api: OwnApi;
let shop: Issued;
let bank: Issued;
const role = `caller_${randomBytes(4).toString("hex")}`;
const member = `${role}_member`;
beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  shop = await issueToken(api, { name: "shop", prefix: "shop:" });
  bank = await issueToken(api, { name: "bank", prefix: "bank:" });
  await api.sql.unsafe(`create role ${role} in role carillon_caller`);
  await api.sql.unsafe(`create role ${member} in role ${role}`);
});
afterAll(() => api.stop());
beforeEach(async () => {
  await api.sql`delete from carillon.inbox_refusals`;
  await restrict(role, "shop:");
  await restrict(member, null);
});

const restrict = (name: string, prefix: string | null) =>
  api.sql`select carillon.restrict_caller(${name}, ${prefix})`;
const send = (command: object, as = role) =>
  api.sql.begin(async (tx) => {
    await tx.unsafe(`set local session authorization ${as}`);
    await tx`select carillon.send_command(${JSON.stringify(command)}::text::jsonb)`;
  });
const apply = () => api.send("POST", "/v1/inbox:apply");
const free = { when: "every 1h", target: { queue: "demo" } };
const put = (key: string, body: object = {}) =>
  api.send("PUT", `/v1/schedules/${key}`, { body: { ...free, ...body } });
const problems = async () =>
  (await api.sql<{ problem: string }[]>`select problem from carillon.inbox_refusals order by id`).map(
    ({ problem }) => problem,
  );
const holdsOf = (key: string) => api.sql`
  select h.scope, h.owner, h.reach, h.team from carillon.holds h join carillon.schedules s on s.id = h.schedule_id
  where s.key = ${key} and s.deleted_at is null order by scope`;

test("No command of a restricted role brings a schedule or job into the group of another team", async () => {
  await put("shop:first");
  const foreign = { group: "bank:exports", serial: true };
  await send({ put: { key: "shop:a", ...free, ...foreign } });
  await send({ put: { key: "shop:first", ...free, ...foreign } });
  await send({ patch: { key: "shop:first", ...foreign } });
  await send({ job: { key: "shop:j", target: { queue: "demo" }, ...foreign } });
  await send({ job: { target: { queue: "demo" }, ...foreign } });
  expect((await apply()).json).toMatchObject({ applied: 0, refused: 5 });
  const refusal = expect.stringContaining(
    'The group "bank:exports" belongs to the keys that begin with "bank:"',
  );
  expect(await problems()).toEqual([refusal, refusal, refusal, refusal, refusal]);
  await restrict(role, null);
  await send({ put: { key: "shop:a", ...free, ...foreign } });
  expect((await apply()).json).toMatchObject({ applied: 1, refused: 0 });
});

test("No command of a restricted role lifts a hold of an admin of all keys", async () => {
  await put("shop:held", { group: "batch", tags: ["cost"] });
  await api.send("POST", "/v1/tags/cost/pause", { body: {} });
  await api.send("POST", "/v1/groups/batch/pause", { body: {} });
  const before = await holdsOf("shop:held");
  expect(before).toMatchObject([
    { scope: "group", reach: "" },
    { scope: "tag", reach: "" },
  ]);
  await send({ patch: { key: "shop:held", tags: [] } });
  await send({ patch: { key: "shop:held", group: null } });
  await send({ put: { key: "shop:held", ...free } });
  expect((await apply()).json).toMatchObject({ applied: 0, refused: 3 });
  expect(await holdsOf("shop:held")).toEqual(before);
  for (const problem of await problems())
    expect(problem).toContain("was made by a caller that reaches all keys");
});

test("A hold of a restricted role may be released by an admin of its prefix", async () => {
  await put("shop:own");
  await send({ pause: "shop:own" });
  await apply();
  expect(await holdsOf("shop:own")).toEqual([
    { scope: "schedule", owner: `sql:${role}`, reach: "shop:", team: "shop:" },
  ]);
  const resume = { ...withToken(shop), body: { owner: `sql:${role}` } };
  expect((await api.send("POST", "/v1/schedules/shop:own/resume", resume)).status).toBe(200);
  expect(await holdsOf("shop:own")).toEqual([]);
});

test("The restriction at the time of the call counts, and not that at the time when the command is applied", async () => {
  const foreign = { group: "bank:later" };
  await send({ put: { key: "shop:restricted", ...free, ...foreign } });
  await restrict(role, null);
  await send({ put: { key: "shop:unrestricted", ...free, ...foreign } });
  await restrict(role, "shop:");
  expect((await apply()).json).toMatchObject({ applied: 1, refused: 1 });
  expect((await api.send("GET", "/v1/schedules/shop:unrestricted")).status).toBe(200);
  expect((await api.send("GET", "/v1/schedules/shop:restricted")).status).toBe(404);
});

test("A role with several prefixes acts with the longest one that the key begins with", async () => {
  await restrict(member, "shop:eu:");
  for (const key of ["shop:eu:a", "shop:us:a"]) {
    await put(key);
    await send({ pause: key }, member);
  }
  await apply();
  expect(await holdsOf("shop:eu:a")).toMatchObject([{ reach: "shop:eu:" }]);
  expect(await holdsOf("shop:us:a")).toMatchObject([{ reach: "shop:" }]);
});

test("A refused command is listed to the team of the key that was checked, whatever its other members are", async () => {
  await send({ a: "bank:nightly", put: { key: "shop:x", ...free } });
  await send({ b: { key: "bank:nightly" }, delete: "shop:y" });
  await send({ a: "bank:nightly", job: { target: { queue: "demo" } } });
  expect((await apply()).json).toMatchObject({ refused: 3 });
  const page = z.object({ items: z.array(z.object({ key: z.string() })) });
  const listed = async (by: Issued) =>
    page.parse((await api.send("GET", "/v1/inbox/errors", withToken(by))).json).items.map(({ key }) => key);
  expect(await listed(bank)).toEqual([]);
  expect(await listed(shop)).toEqual([expect.stringMatching(/^shop:job:/), "shop:y", "shop:x"]);
  const kinds = async (by: Issued) => (await api.send("GET", "/v1/problems", withToken(by))).json;
  expect(await kinds(bank)).toMatchObject({ problems: [] });
  expect(await kinds(shop)).toMatchObject({ problems: [{ kind: "inbox-errors", count: { count: 3 } }] });
});
