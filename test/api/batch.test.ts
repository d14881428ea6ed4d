import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
});

afterAll(() => api.stop());

const body = { when: "every 1h", target: { handler: "greet" }, payload: { name: "Ann" } };
const batch = (operations: unknown, more: object = {}) =>
  api.send("POST", "/v1/schedules:batch", { body: { operations, ...more } });
const liveKeys = async (prefix: string) =>
  (
    await api.sql<{ key: string }[]>`
      select key from carillon.schedules where deleted_at is null and starts_with(key, ${prefix}) order by key`
  ).map(({ key }) => key);

describe("a batch", () => {
  test("Each operation of a batch has the result of the same request sent alone, in order", async () => {
    await api.send("PUT", "/v1/schedules/mixed:old", { body });
    const { status, json } = await batch([
      { put: { key: "mixed:new", ...body } },
      { put: { key: "mixed:new", ...body } },
      { patch: { key: "mixed:new", when: "every 2h" }, ifMatch: 1 },
      { patch: { key: "mixed:new", when: "every 3h" }, ifMatch: 1 },
      { put: { key: "mixed:new", ...body }, ifNoneMatch: true },
      { pause: { key: "mixed:new", reason: "audit" } },
      { resume: "mixed:new" },
      { delete: "mixed:old" },
      { delete: "mixed:old" },
      { put: { key: "mixed:bad", when: "every blue moon", target: { queue: "q" } } },
      { put: { key: "mixed:bad", when: "every 1h", target: { handler: "nobody" } } },
      { put: { when: "every 1h" } },
      { delete: "a/b" },
      { sing: "mixed:new" },
    ]);
    expect(status).toBe(200);
    expect(json).toMatchObject({
      results: [
        { status: 201, key: "mixed:new", version: 1 },
        { status: 200, key: "mixed:new", version: 1 },
        { status: 200, key: "mixed:new", version: 2 },
        { status: 412, key: "mixed:new" },
        { status: 412, key: "mixed:new" },
        { status: 200, version: 3 },
        { status: 200, version: 4 },
        { status: 204, key: "mixed:old" },
        { status: 404, key: "mixed:old" },
        { status: 400, key: "mixed:bad", error: { errors: [{ path: "put.when" }] } },
        { status: 422, key: "mixed:bad", error: { errors: [{ path: "put.target.handler" }] } },
        { status: 400, key: null },
        { status: 400, key: "a/b", error: { errors: [{ path: "delete.key" }] } },
        { status: 400 },
      ],
    });
    expect(await liveKeys("mixed:")).toEqual(["mixed:new"]);
  });

  test("An atomic batch with a refused operation does nothing, and lists every fault with its position", async () => {
    const { status, json } = await batch(
      [
        { put: { key: "all:1", ...body } },
        { put: { key: "all:2", ...body, when: "never" } },
        { delete: "all:3" },
      ],
      { atomic: true },
    );
    expect(status).toBe(422);
    expect(json).toMatchObject({ errors: [{ path: "operations[1].put.when" }, { path: "operations[2]" }] });
    const second = await batch([{ put: { key: "all:1", ...body } }, { delete: "all:3" }], { atomic: true });
    expect(second.status).toBe(422);
    expect(second.json).toMatchObject({ errors: [{ path: "operations[1]" }] });
    expect(await liveKeys("all:")).toEqual([]);
    const third = await batch([{ put: { key: "all:1", ...body } }, { put: { key: "all:2", ...body } }], {
      atomic: true,
    });
    expect(third.status).toBe(200);
    expect(await liveKeys("all:")).toEqual(["all:1", "all:2"]);
  });

  test("A batch accepts jobs without a lasting schedule, with at most one waiting job per key", async () => {
    const job = { target: { handler: "greet" }, payload: { name: "Ann" }, at: "in 5m" };
    const { json } = await batch([
      { job },
      { job: { ...job, key: "batched-job" } },
      { job: { ...job, key: "batched-job", ifExists: "keep" } },
      { job: { ...job, key: "batched-job", ifExists: "refuse" } },
      { job: { ...job, target: { handler: "nobody" } } },
      { job: { ...job, at: "tomorrow" } },
      { job: { ...job, key: "batched-job" }, ifMatch: 1 },
    ]);
    expect(json).toMatchObject({
      results: [
        { status: 202, job: expect.stringMatching(/^\d+-\d+-c0$/) },
        { status: 202, key: "batched-job", job: expect.stringMatching(/^\d+-\d+-c0$/) },
        { status: 200, key: "batched-job", version: 1 },
        { status: 409 },
        { status: 422, error: { errors: [{ path: "job.target.handler" }] } },
        { status: 400, error: { errors: [{ path: "job.at" }] } },
        { status: 400, error: { errors: [{ path: "ifMatch" }] } },
      ],
    });
  });

  test("A batch has 1 to 1,000 operations and needs the scope write", async () => {
    expect((await batch([])).status).toBe(400);
    expect((await batch(Array.from({ length: 1_001 }, () => ({ delete: "nobody" })))).status).toBe(400);
    const { status } = await api.send("POST", "/v1/schedules:batch", {
      as: "read",
      body: { operations: [{ delete: "a" }] },
    });
    expect(status).toBe(403);
  });

  test("In a batch, acting for another owner without an admin token refuses that operation only", async () => {
    await api.send("PUT", "/v1/schedules/owned", { body });
    const operations = [{ pause: { key: "owned", owner: "bob" } }, { pause: "owned" }];
    const { json } = await api.send("POST", "/v1/schedules:batch", { as: "write", body: { operations } });
    expect(json).toMatchObject({ results: [{ status: 403 }, { status: 200 }] });
  });

  test("A batch reports at most a thousand faults, so that its answer can be sent", async () => {
    const unknown = Object.fromEntries(
      Array.from({ length: 45 }, (_, n) => [`${"unknown ".repeat(10)}${n}`, 1]),
    );
    const operations = Array.from({ length: 999 }, (_, n) => ({
      put: { key: `odd:${n}`, ...body, ...unknown },
    }));
    const answer = await batch([{ put: { key: "fine", ...body } }, ...operations]);
    expect(answer.status).toBe(200);
    expect(answer.body.length).toBeLessThan(1_500_000);
    expect(answer.json).toMatchObject({
      results: expect.arrayContaining([expect.objectContaining({ status: 201, key: "fine" })]),
    });
    expect((await batch(operations, { atomic: true })).body.length).toBeLessThan(500_000);
  });

  test("A batch with too many operations that must be done one by one is split into transactions of at most 25, and refused if it is atomic", async () => {
    const put = (n: number, overlap: string) => ({ put: { key: `parts:${n}`, ...body, overlap } });
    const all = (overlap: string) => Array.from({ length: 130 }, (_, n) => put(n, overlap));
    await batch(all("queue"));
    const atomic = await batch(all("allow"), { atomic: true });
    expect(atomic.status).toBe(422);
    const { status, json } = await batch(all("allow"));
    expect(status).toBe(200);
    expect(json).toEqual({
      results: all("allow").map(() => expect.objectContaining({ status: 200, version: 2 })),
    });
    const sizes = await api.sql<{ size: number }[]>`
      select count(*)::int as size from carillon.schedules where starts_with(key, 'parts:') group by xmin::text`;
    expect(Math.max(...sizes.map(({ size }) => size))).toBeLessThanOrEqual(25);
  });

  test("A batch of a thousand operations is one transaction", async () => {
    const operations = Array.from({ length: 1_000 }, (_, n) => ({ put: { key: `many:${n}`, ...body } }));
    const { status } = await batch(operations);
    expect(status).toBe(200);
    const [row] = await api.sql`
      select count(*)::int as schedules, count(distinct xmin::text)::int as transactions from carillon.schedules where starts_with(key, 'many:')`;
    expect(row).toEqual({ schedules: 1_000, transactions: 1 });
  });
});
