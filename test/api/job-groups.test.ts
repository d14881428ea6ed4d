import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let ours: string;

beforeAll(async () => {
  api = await ownApi();
  await dies("ours:1", "Order 17 not found");
  await dies("ours:2", "Order 18 not found");
  await dies("theirs:1", "Order 19 not found");
  await dies("theirs:2", "db is down");
  ours = await teamToken("ours:");
});

afterAll(() => api.stop());

async function dies(key: string, error: string): Promise<void> {
  await api.send("PUT", `/v1/schedules/${key}`, { body: { when: "every 1d", target: { queue: "demo" } } });
  const { id } = (await api.send("POST", `/v1/schedules/${key}/fire`)).json as { id: string };
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.jobs j on j.parcel_id = p.id
    where j.schedule_id || '-' || (extract(epoch from j.occurrence) * 1000)::bigint || '-m' || j.n = ${id}`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  await settleParcel(api.sql, parcel, [{ kind: "dead", error, errorClass: undefined, stack: undefined }]);
}

async function teamToken(prefix: string): Promise<string> {
  const made = await api.send("POST", "/v1/tokens", { body: { name: "team", scope: "write", prefix } });
  return (made.json as { token: string }).token;
}

const asOurs = (parts: SendParts = {}): SendParts => ({
  ...parts,
  headers: { authorization: `Bearer ${ours}` },
});

interface Group {
  errorGroup: string;
  count: number;
  sample: { id: string };
  filter: Record<string, string>;
}

async function groups(query = "", parts: SendParts = {}): Promise<Group[]> {
  const answer = await api.send("GET", "/v1/jobs:groups", { query, ...parts });
  expect(answer.status).toBe(200);
  return (answer.json as { items: Group[] }).items;
}

describe("GET /v1/jobs:groups", () => {
  test("A group has a filter that selects its jobs in lists and in bulk retries", async () => {
    const [largest, other] = await groups();
    expect(largest).toMatchObject({
      target: "queue/demo",
      error: "Order <n> not found",
      count: 3,
      more: false,
      schedules: 3,
      filter: { state: "dead", errorGroup: largest?.errorGroup },
    });
    expect(other).toMatchObject({ error: "db is down", count: 1 });
    const query = new URLSearchParams(largest?.filter).toString();
    const listed = (await api.send("GET", "/v1/jobs", { query })).json as { items: { errorGroup: string }[] };
    expect(listed.items.map(({ errorGroup }) => errorGroup)).toEqual(
      [1, 2, 3].map(() => largest?.errorGroup),
    );
    const body = { filter: largest?.filter, dryRun: true };
    expect(await api.send("POST", "/v1/jobs:retry", { as: "write", body })).toMatchObject({
      status: 200,
      json: {
        dryRun: true,
        count: 3,
        more: false,
        samples: [{ state: "dead" }, { state: "dead" }, { state: "dead" }],
      },
    });
    const job = await api.send("GET", `/v1/jobs/${largest?.sample.id}`);
    expect(job.json).toMatchObject({
      errorGroup: largest?.errorGroup,
      attempts: [{ errorGroup: largest?.errorGroup }],
    });
  });

  test.each(["target", "error", "reason"])("Groups by %s have a filter for their jobs", async (by) => {
    for (const { count, filter } of await groups(`by=${by}&prefix=theirs:`)) {
      expect(filter).toMatchObject({ state: "dead", prefix: "theirs:" });
      const answer = await api.send("POST", "/v1/jobs:retry", { body: { filter, dryRun: true } });
      expect(answer.json).toMatchObject({ count });
    }
  });

  test("A page of groups continues with its cursor", async () => {
    const first = (await api.send("GET", "/v1/jobs:groups", { query: "limit=1" })).json as { cursor: string };
    const rest = await groups(`limit=1&cursor=${first.cursor}`);
    expect(rest).toMatchObject([{ count: 1, error: "db is down" }]);
    const query = `limit=1&by=target&cursor=${first.cursor}`;
    expect((await api.send("GET", "/v1/jobs:groups", { query })).status).toBe(400);
  });

  test("A token with a prefix sees and retries only the failures of its own keys", async () => {
    const seen = await groups("", asOurs());
    expect(seen).toMatchObject([{ count: 2, sample: { key: "ours:2" } }]);
    const { json } = await api.send("GET", "/v1/jobs:groups", asOurs());
    // Four jobs of all teams are dead.
    expect(json).toMatchObject({ looked: 2, more: false });
    expect(await groups("prefix=theirs:", asOurs())).toEqual([]);
    expect((await api.send("GET", "/v1/jobs:groups", asOurs({ query: "key=theirs:1" }))).status).toBe(403);
    const body = { filter: { errorGroup: seen[0]?.errorGroup }, dryRun: true };
    expect(await api.send("POST", "/v1/jobs:retry", asOurs({ body }))).toMatchObject({ json: { count: 2 } });
    expect(await api.send("POST", "/v1/jobs:cancel", asOurs({ body }))).toMatchObject({ json: { count: 0 } });
  });

  test("All faults of a request are answered at once", async () => {
    const query = "state=retrying&by=reason&from=2026-01-01T00:00:00Z&errorGroup=x&limit=0";
    const { status, json } = await api.send("GET", "/v1/jobs:groups", { query });
    expect(status).toBe(400);
    expect((json as { errors: { path: string }[] }).errors.map(({ path }) => path)).toEqual(
      expect.arrayContaining(["errorGroup", "limit"]),
    );
    const later = await api.send("GET", "/v1/jobs:groups", {
      query: "state=retrying&by=reason&from=2026-01-01T00:00:00Z&odd=1",
    });
    expect(later.status).toBe(400);
    expect(
      (await api.send("GET", "/v1/jobs:groups", { query: "state=retrying&by=reason" })).json,
    ).toMatchObject({
      errors: [{ path: "by" }],
    });
  });
});
