import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { type Settlement, settleParcel } from "../../lib/parcel/settle.ts";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

interface Job {
  id: string;
  key: string;
  state: string;
}

/** A job of a schedule that was fired now. */
async function fired(key: string, body: object = {}): Promise<Job> {
  await api.send("PUT", `/v1/schedules/${key}`, {
    body: { when: "every 1d", target: { queue: "demo" }, ...body },
  });
  return (await api.send("POST", `/v1/schedules/${key}/fire`)).json as Job;
}

async function claimed(id: string) {
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.jobs j on j.parcel_id = p.id
    where j.schedule_id || '-' || (extract(epoch from j.occurrence) * 1000)::bigint || '-m' || j.n = ${id}`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  return parcel;
}

async function settled(id: string, settlement: Settlement): Promise<void> {
  await settleParcel(api.sql, await claimed(id), [settlement]);
}

const dead: Settlement = {
  kind: "dead",
  error: "Error: no",
  errorClass: "Error",
  stack: "Error: no\n    at x",
};
const itemsOf = (answer: { json: unknown }) => (answer.json as { items: Job[] }).items;

describe("POST /v1/jobs/{id}/cancel", () => {
  test("A cancel answers 200 with the cancelled job, and 409 the second time", async () => {
    const { id } = await fired("cancel-waiting");
    const cancel = () => api.send("POST", `/v1/jobs/${id}/cancel`, { as: "write", body: { reason: "no" } });
    expect(await cancel()).toMatchObject({
      status: 200,
      json: { id, state: "cancelled", reason: "requested", cancelling: false, durationMs: null, checks: 0 },
    });
    expect(await api.send("GET", `/v1/jobs/${id}`)).toMatchObject({
      status: 200,
      json: { state: "cancelled" },
    });
    expect(await cancel()).toMatchObject({
      status: 409,
      json: {
        detail: `The job ${id} is cancelled: only a waiting, retrying or running job can be cancelled.`,
      },
    });
  });

  test("A cancel of a running job answers 202, and the job shows that it is to be stopped", async () => {
    const { id } = await fired("cancel-running");
    const parcel = await claimed(id);
    expect(await api.send("POST", `/v1/jobs/${id}/cancel`)).toMatchObject({
      status: 202,
      json: { state: "running", cancelling: true },
    });
    await settleParcel(api.sql, parcel, [{ kind: "cancelled" }]);
    expect(await api.send("GET", `/v1/jobs/${id}`)).toMatchObject({
      json: { state: "cancelled", cancelling: false, attempts: [{ outcome: "cancelled" }] },
    });
  });

  test("A cancel answers 404 for an unknown job, 403 to a token of scope read, 400 for unknown fields", async () => {
    expect((await api.send("POST", "/v1/jobs/7-1-c0/cancel")).status).toBe(404);
    expect((await api.send("POST", "/v1/jobs/nothing/cancel")).status).toBe(404);
    expect((await api.send("POST", "/v1/jobs/7-1-c0/cancel", { as: "read" })).status).toBe(403);
    expect((await api.send("POST", "/v1/jobs/7-1-c0/cancel", { body: { why: 1 } })).status).toBe(400);
  });
});

describe("POST /v1/jobs/{id}/retry", () => {
  test("A retry answers 202 with the job, which waits again and keeps its attempts", async () => {
    const { id } = await fired("retried");
    await settled(id, dead);
    expect(await api.send("POST", `/v1/jobs/${id}/retry`, { as: "write" })).toMatchObject({
      status: 202,
      json: {
        id,
        state: "retrying",
        reason: null,
        attempt: 1,
        attempts: [
          {
            attempt: 1,
            outcome: "failed",
            errorClass: "Error",
            stack: dead.stack,
            durationMs: expect.any(Number),
          },
        ],
      },
    });
    expect(await api.send("POST", `/v1/jobs/${id}/retry`)).toMatchObject({
      status: 409,
      json: { detail: `The job ${id} is retrying: only a dead or cancelled job can be retried.` },
    });
  });

  test("A retry answers 409 where the schedule is deleted, and 404 for an unknown job", async () => {
    const { id } = await fired("retried-late");
    await settled(id, dead);
    await api.send("DELETE", "/v1/schedules/retried-late");
    expect((await api.send("POST", `/v1/jobs/${id}/retry`)).status).toBe(409);
    expect((await api.send("POST", "/v1/jobs/7-1-c0/retry")).status).toBe(404);
  });
});

describe("GET /v1/jobs", () => {
  test("Dead jobs are listed newest first, in pages, without stacks", async () => {
    const jobs = [];
    for (const key of ["dead:a", "dead:b", "dead:c"]) jobs.push(await fired(key, { group: "dead-group" }));
    for (const { id } of jobs) await settled(id, dead);
    const seen: string[] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const more: string = cursor === "" ? "" : `&cursor=${cursor}`;
      const page = await api.send("GET", "/v1/jobs", {
        query: `state=dead&group=dead-group&limit=2${more}`,
        as: "read",
      });
      expect(page.status).toBe(200);
      expect(JSON.stringify(page.json)).not.toContain("stack");
      seen.push(...itemsOf(page).map(({ key }) => key));
      cursor = (page.json as { cursor?: string }).cursor;
    }
    expect(seen).toEqual(["dead:c", "dead:b", "dead:a"]);
    const byPrefix = await api.send("GET", "/v1/jobs", {
      query: "state=dead&prefix=dead:&target=queue/demo",
    });
    expect(itemsOf(byPrefix).map(({ state }) => state)).toEqual(["dead", "dead", "dead"]);
    const later = await api.send("GET", "/v1/jobs", {
      query: "state=dead&group=dead-group&from=2190-01-01T00:00:00Z",
    });
    expect(itemsOf(later)).toEqual([]);
  });

  test("Jobs that are not dead are listed too, by their key or by a prefix", async () => {
    const { id } = await fired("history");
    await fired("history");
    await settled(id, { kind: "cancelled" });
    const list = (query: string) => api.send("GET", "/v1/jobs", { query });
    expect(itemsOf(await list("key=history&state=cancelled"))).toMatchObject([{ id, state: "cancelled" }]);
    expect(itemsOf(await list("key=history"))).toHaveLength(2);
    expect(itemsOf(await list("key=history&state=succeeded"))).toEqual([]);
    expect((await list("key=nobody")).status).toBe(404);
    expect((await list("key=history&tag=x")).json).toMatchObject({
      status: 422,
      errors: [{ path: "tag", message: "cannot be combined with `key`" }],
    });
    const others = itemsOf(await list("prefix=history"));
    expect(others.map((job) => job.id)).toEqual(itemsOf(await list("key=history")).map((job) => job.id));
    expect(itemsOf(await list("prefix=history&state=cancelled"))).toMatchObject([{ id }]);
    for (const query of [
      "state=odd",
      "state=dead&target=odd",
      "state=dead&cursor=x",
      "limit=0",
      "state=dead&from=now",
    ])
      expect((await list(query)).status, query).toBe(400);
  });

  test("The list of jobs refuses the cursor of another list", async () => {
    const list = (query: string) => api.send("GET", "/v1/jobs", { query });
    for (const query of ["", "state=dead", "key=history"]) {
      for (const wrong of [
        await madeUpCursor(api, "jobs", "1772445600000"),
        await madeUpCursor(api, "job-search", "AAAAAAAA/1-2-c0"),
      ])
        expect((await list(`${query}&cursor=${wrong}`)).status, query).toBe(400);
      const [, next] = /"cursor":"([^"]+)"/.exec((await list(`${query}&limit=1`)).body) ?? [];
      expect((await list(`${query}&limit=1&cursor=${next}`)).status, query).toBe(200);
      expect((await list(`${query}&limit=1&reason=odd&cursor=${next}`)).status, query).toBe(400);
    }
  });
});

describe("POST /v1/jobs:retry and :cancel", () => {
  test("A bulk retry retries matching jobs and continues with its cursor", async () => {
    for (const key of ["many:a", "many:b", "many:c"]) await settled((await fired(key)).id, dead);
    const retry = (query = "") =>
      api.send("POST", "/v1/jobs:retry", {
        body: { filter: { prefix: "many:" }, limit: 2 },
        query,
        as: "write",
      });
    const first = await retry();
    expect(first).toMatchObject({
      status: 202,
      json: { done: 2, leftOut: 0, failed: 0, entry: expect.any(String), cursor: expect.any(String) },
    });
    const { cursor } = first.json as { cursor: string };
    expect(await retry(`cursor=${cursor}`)).toMatchObject({
      status: 202,
      json: { done: 1, leftOut: 0, failed: 0, entry: expect.any(String) },
    });
    expect((await retry(`cursor=${cursor}x`)).status).toBe(400);
    const left = await api.send("GET", "/v1/jobs", { query: "state=dead&prefix=many:" });
    expect(itemsOf(left)).toEqual([]);
  });

  test("A bulk cancel cancels matching jobs", async () => {
    await fired("stop:a");
    const { id } = await fired("stop:b");
    await claimed(id);
    const cancel = (filter: object) => api.send("POST", "/v1/jobs:cancel", { body: { filter }, as: "write" });
    expect(await cancel({ prefix: "stop:" })).toMatchObject({
      status: 202,
      json: { done: 2, running: 1, failed: 0, entry: expect.any(String) },
    });
    expect(await cancel({ prefix: "stop:", state: "waiting" })).toMatchObject({
      json: { done: 0, running: 0 },
    });
    for (const key of ["stop:c", "stop:d"]) await fired(key);
    const one = (query: string) =>
      api.send("POST", "/v1/jobs:cancel", {
        body: { filter: { prefix: "stop:" }, limit: 1 },
        query,
        as: "write",
      });
    const first = await one("");
    expect(first).toMatchObject({ json: { done: 1, cursor: expect.any(String) } });
    const { cursor } = first.json as { cursor: string };
    expect(await one(`cursor=${cursor}`)).toMatchObject({ status: 202, json: { done: 1, failed: 0 } });
    for (const filter of [{}, { state: "waiting" }, { state: "dead", key: "k" }, { key: "" }])
      expect((await cancel(filter)).status).toBe(400);
    expect((await api.send("POST", "/v1/jobs:cancel")).status).toBe(400);
    expect(
      (await api.send("POST", "/v1/jobs:cancel", { body: { filter: { key: "k" } }, as: "read" })).status,
    ).toBe(403);
  });

  test("A bulk operation has a limit of at most ten thousand", async () => {
    // A larger call would hold its transaction, and the locks of its jobs, until the function times
    // out.
    for (const path of ["/v1/jobs:cancel", "/v1/jobs:retry"])
      for (const [limit, status] of [
        [10_000, 202],
        [10_001, 400],
      ] as const)
        expect((await api.send("POST", path, { body: { filter: { key: "none" }, limit } })).status).toBe(
          status,
        );
  });

  test("A bulk retry of cancelled jobs needs a key", async () => {
    const { id } = await fired("by-key");
    await api.send("POST", `/v1/jobs/${id}/cancel`);
    const retry = (filter: object) => api.send("POST", "/v1/jobs:retry", { body: { filter } });
    expect(await retry({ state: "cancelled", group: "g" })).toMatchObject({
      status: 422,
      json: { errors: [{ path: "filter.group" }, { path: "filter.key" }] },
    });
    expect(await retry({ state: "cancelled", key: "by-key" })).toMatchObject({
      status: 202,
      json: { done: 1 },
    });
    expect(await api.send("GET", `/v1/jobs/${id}`)).toMatchObject({ json: { state: "waiting" } });
  });
});

describe("random requests", () => {
  test("A request with random filters or ids never answers 5xx", async () => {
    const instants = fc.oneof(
      fc.constantFrom("2026-03-02T10:00:00Z", "now", "9999-12-31T23:59:59Z"),
      fc.string(),
    );
    const texts = fc.oneof(fc.constantFrom("dead", "cancelled", "waiting", "fuzz", "handler/x"), fc.string());
    const filters = fc.record(
      {
        state: texts,
        key: texts,
        prefix: texts,
        group: texts,
        tag: texts,
        target: texts,
        reason: texts,
        from: instants,
        to: instants,
      },
      { requiredKeys: [] },
    );
    const lists = fc.constantFrom("retries", "cancels", "job-search", "jobs");
    const places = fc.oneof(
      fc.constantFrom(
        "0",
        "99999999999999",
        "1/7-1-c0",
        "99999999999999/9999999999999/7-253402300799999-m1",
        "999999999999999999",
      ),
      fc.string(),
    );
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.constantFrom("retry", "cancel"),
        lists,
        places,
        async (filter, verb, list, place) => {
          const cursor = await madeUpCursor(api, list, place);
          for (const query of ["", `cursor=${cursor}`]) {
            const answer = await api.send("POST", `/v1/jobs:${verb}`, { body: { filter, limit: 5 }, query });
            expect(answer.status, JSON.stringify(answer.json)).toBeLessThan(500);
            const search = new URLSearchParams(query);
            for (const [name, value] of Object.entries(filter))
              if (value !== undefined) search.set(name, value);
            const listed = await api.send("GET", "/v1/jobs", { query: search.toString() });
            expect(listed.status, JSON.stringify(listed.json)).toBeLessThan(500);
          }
        },
      ),
      { numRuns: 150 },
    );
  });
});
