import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let ours: string;

beforeAll(async () => {
  api = await ownApi();
  for (const key of ["ours:1", "ours:2", "theirs:1"]) await dies(key);
  const body = { name: "team", scope: "write", prefix: "ours:" };
  ours = ((await api.send("POST", "/v1/tokens", { body })).json as { token: string }).token;
});

afterAll(() => api.stop());

const done = { kind: "succeeded" } as const;
const dead = { kind: "dead", error: "db is down", errorClass: undefined, stack: undefined } as const;

async function dies(key: string): Promise<void> {
  await api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1d", target: { queue: "demo" } } });
  const { id } = (await api.send("POST", `/v1/schedules/${key}/fire`)).json as { id: string };
  await settles(id, dead);
}

/** A worker claims the parcel of a job and settles its jobs. */
async function settles(job: string, result: typeof dead | typeof done): Promise<void> {
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.jobs j on j.parcel_id = p.id
    where j.schedule_id || '-' || (extract(epoch from j.occurrence) * 1000)::bigint || '-m' || j.n = ${job}`;
  // Retried jobs are let in over some milliseconds.
  await api.sql`update carillon.parcels set ready_at = carillon.clock() where id = ${row?.id ?? "0"} and ready_at > carillon.clock()`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  await settleParcel(
    api.sql,
    parcel,
    parcel.jobs.map(() => result),
  );
}

interface Listed {
  items: { id: string; key: string; state: string }[];
  cursor?: string;
}

const asOurs = (parts: SendParts = {}): SendParts => ({
  ...parts,
  headers: { authorization: `Bearer ${ours}` },
});

async function retried(filter: object): Promise<{ done: number; entry: string | null }> {
  const { status, json } = await api.send("POST", "/v1/jobs:retry", { body: { filter } });
  expect(status).toBe(202);
  return json as { done: number; entry: string | null };
}

async function listed(query: string, parts: SendParts = {}): Promise<Listed> {
  const { status, json } = await api.send("GET", "/v1/jobs", { query, ...parts });
  expect(status).toBe(200);
  return json as Listed;
}

const states = async (entry: string, parts: SendParts = {}) =>
  (await api.send("GET", "/v1/jobs:states", { query: `entry=${entry}`, ...parts })).json;

const counted = async (query: string, parts: SendParts = {}) =>
  (await api.send("GET", "/v1/jobs:count", { query, ...parts })).json;

const none = { waiting: 0, running: 0, retrying: 0, succeeded: 0, skipped: 0, dead: 0, cancelled: 0 };

describe("the jobs of a bulk action", () => {
  test("The entry of a retry lists and counts its jobs in the states that they have by now, and no others", async () => {
    await dies("later");
    const { done: count, entry } = await retried({ state: "dead", errorGroup: await errorGroupOf("ours:1") });
    expect(count).toBe(4);
    expect(await states(String(entry))).toEqual({ count: 4, more: false, states: { ...none, retrying: 4 } });
    const jobs = (await listed(`entry=${entry}`)).items;
    expect(jobs.map(({ key }) => key).sort()).toEqual(["later", "ours:1", "ours:2", "theirs:1"]);
    const [first, second] = jobs;
    await settles(first?.id ?? "", done);
    if (second !== undefined && (await stateOf(second.id)) === "retrying") await settles(second.id, dead);
    await dies("another");
    const { items } = await listed(`entry=${entry}`);
    const by = Object.groupBy(items, ({ state }) => state);
    const counts = Object.fromEntries(Object.entries(by).map(([state, of]) => [state, of?.length]));
    expect(await states(String(entry))).toEqual({ count: 4, more: false, states: { ...none, ...counts } });
    expect(await counted(`entry=${entry}`)).toEqual({ count: 4, more: false });
    for (const [state, of] of Object.entries(by)) {
      expect((await listed(`entry=${entry}&state=${state}`)).items).toEqual(of);
      expect(await counted(`entry=${entry}&state=${state}`)).toEqual({ count: of?.length, more: false });
    }
    expect(items.map(({ key }) => key)).not.toContain("another");
  });

  test("Pages of an entry's jobs go on from their cursor, and several entries list a job once", async () => {
    await dies("paged:1");
    await dies("paged:2");
    const first = await retried({ prefix: "paged:" });
    for (const { id } of (await listed(`entry=${first.entry}`)).items)
      if ((await stateOf(id)) === "retrying") await settles(id, dead);
    const second = await retried({ prefix: "paged:" });
    const query = `entry=${first.entry},${second.entry}&limit=1`;
    const page = await listed(query);
    const rest = await listed(`${query}&cursor=${page.cursor}`);
    expect([...page.items, ...rest.items].map(({ key }) => key).sort()).toEqual(["paged:1", "paged:2"]);
    expect(await states(`${first.entry},${second.entry}`)).toMatchObject({ count: 2, more: false });
  });

  test("A cancel has an entry too, and a call that changes nothing has none", async () => {
    const body = { target: { queue: "demo" }, key: "soon", at: "in 5s" };
    await api.send("POST", "/v1/jobs", { body });
    await api.send("PUT", "/v1/schedules/fired", { body: { when: "every 1d", target: { queue: "demo" } } });
    await api.send("POST", "/v1/schedules/fired/fire");
    const cancel = await api.send("POST", "/v1/jobs:cancel", { body: { filter: { key: "fired" } } });
    const { entry } = cancel.json as { entry: string };
    expect(await states(entry)).toEqual({ count: 1, more: false, states: { ...none, cancelled: 1 } });
    expect((await retried({ key: "no-such" })).entry).toBeNull();
  });

  test("A token with a prefix finds and counts the jobs of its keys only", async () => {
    await dies("ours:3");
    await dies("theirs:3");
    const { entry } = await retried({ target: "queue/demo" });
    const all = (await listed(`entry=${entry}`)).items.map(({ key }) => key);
    expect(all).toEqual(expect.arrayContaining(["ours:3", "theirs:3"]));
    const own = (await listed(`entry=${entry}`, asOurs())).items.map(({ key }) => key);
    expect(own).toEqual(all.filter((key) => key.startsWith("ours:")));
    expect(await states(String(entry), asOurs())).toMatchObject({ count: own.length });
    expect(await counted(`entry=${entry}`, asOurs())).toEqual({ count: own.length, more: false });
    expect((await listed(`entry=${entry}&prefix=theirs:`, asOurs())).items).toEqual([]);
  });

  test("Dead jobs are counted as they are listed, those of a deleted schedule too", async () => {
    await dies("gone:1");
    await dies("gone:2");
    await api.send("DELETE", "/v1/schedules/gone:1");
    const query = "state=dead&prefix=gone:";
    expect((await listed(query)).items).toHaveLength(2);
    expect(await counted(query)).toEqual({ count: 2, more: false });
    expect(await counted(`${query}&upcoming=true`)).toEqual({ count: 0, more: false });
    const own = (await listed("state=dead", asOurs())).items;
    expect(await counted("state=dead", asOurs())).toEqual({ count: own.length, more: false });
  });

  test("An entry takes state and prefix beside it, and its id is checked", async () => {
    const beside = await api.send("GET", "/v1/jobs", { query: "entry=1&tag=a&key=b" });
    expect(beside).toMatchObject({
      status: 422,
      json: { errors: [{ path: "key" }, { path: "tag", message: "cannot be combined with `entry`" }] },
    });
    for (const entry of ["0", "x", "1,", "99999999999999999999"])
      expect((await api.send("GET", "/v1/jobs:states", { query: `entry=${entry}` })).status).toBe(400);
    expect((await api.send("GET", "/v1/jobs:states")).status).toBe(400);
    expect(await states("9223372036854775807")).toEqual({ count: 0, more: false, states: none });
  });
});

async function errorGroupOf(key: string): Promise<string> {
  const { items } = (await api.send("GET", "/v1/jobs", { query: `state=dead&key=${key}` })).json as {
    items: { errorGroup: string }[];
  };
  return items[0]?.errorGroup ?? "";
}

async function stateOf(id: string): Promise<string> {
  return ((await api.send("GET", `/v1/jobs/${id}`)).json as { state: string }).state;
}
