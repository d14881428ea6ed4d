import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { type OwnApi, ownApi } from "./own-api.ts";

/** A caller with the scope `write` tries every way in to get an event of another sender onto a bus. */
let api: OwnApi;
beforeAll(async () => {
  api = await ownApi({ CARILLON_TARGET_EVENT_SOURCES: "carillon,shop.*" });
});
afterAll(() => api.stop());

const send = (method: string, path: string, body?: object) =>
  api.send(method, path, { as: "write", ...(body === undefined ? {} : { body }) });

const own = { event: { source: "shop.orders", detailType: "order.due" } };
const hourly = { when: "every 1h" };

const problem = z.object({ errors: z.array(z.object({ path: z.string() })) });
const pathsOf = (json: unknown) => problem.parse(json).errors.map(({ path }) => path);
const errorsOf = (json: unknown) =>
  z
    .object({ results: z.array(z.object({ status: z.number(), error: z.unknown() })) })
    .parse(json)
    .results.map(({ status, error }) => [status, pathsOf(error)]);

const reserved = "target.event.detailType";
const source = "target.event.source";
const forgeries: readonly [event: object, path: string, status: number][] = [
  [{ detailType: "carillon.job.dead" }, reserved, 400],
  [{ source: "shop.x", detailType: "Carillon.Job.Dead" }, reserved, 400],
  [{ detailType: " carillon.job.missed" }, reserved, 400],
  [{ detailType: "carillon.job.due " }, reserved, 400],
  [{ source: "aws.ec2" }, source, 400],
  [{ source: "AWS.ec2" }, source, 400],
  [{ source: " aws.ec2" }, source, 400],
  [{ source: "billing" }, source, 422],
  [{ source: "Carillon" }, source, 422],
  [{ source: "shop" }, source, 422],
];

describe.each(forgeries)("a caller that asks for the event %j", (event, path, status) => {
  const target = { event };
  const key = `forged:${JSON.stringify(event)}`;
  const at = `/v1/schedules/${encodeURIComponent(key)}`;

  test.each<[string, () => ReturnType<typeof send>]>([
    ["a put", () => send("PUT", at, { ...hourly, target })],
    ["a put of a pulse", () => send("PUT", at, { ...hourly, target, delivery: "pulse" })],
    ["a post", () => send("POST", "/v1/schedules", { ...hourly, target })],
    ["a preview", () => send("POST", "/v1/preview", { ...hourly, target })],
    ["a job", () => send("POST", "/v1/jobs", { target })],
  ])("is refused by %s", async (_, ask) => {
    const refused = await ask();
    expect([refused.status, pathsOf(refused.json)]).toEqual([status, [path]]);
    expect((await send("GET", at)).status).toBe(404);
  });

  test("is refused by each patch of its own schedule, which stays as it was", async () => {
    const names = { source: "carillon", detailType: "carillon.job.due", ...event };
    for (const delivery of ["ledger", "pulse"]) {
      expect((await send("PUT", at, { ...hourly, target: own, delivery })).status).toBe(201);
      const refused = await send("PATCH", at, { target: { event: names } });
      expect([refused.status, pathsOf(refused.json)]).toEqual([status, [path]]);
      const patch = { patch: { key, target: { event: names } } };
      const batch = await send("POST", "/v1/schedules:batch", { operations: [patch] });
      expect(errorsOf(batch.json)).toEqual([[status, [`patch.${path}`]]]);
      const put = { put: { key, ...hourly, target } };
      const replaced = await send("POST", "/v1/schedules:batch", { operations: [put] });
      expect(errorsOf(replaced.json)).toEqual([[status, [`put.${path}`]]]);
      expect((await send("GET", at)).json).toMatchObject({ target: own, version: 1 });
      expect((await send("DELETE", at)).status).toBe(204);
    }
  });

  test("is refused by a restore of a version that was stored before the rule", async () => {
    await send("PUT", at, { ...hourly, target: own });
    await api.sql`
      update carillon.schedule_versions
      set target = ${JSON.stringify({ event: { ...own.event, bus: "default", ...event } })}::text::jsonb
      where schedule_id = (select id from carillon.schedules where key = ${key} and deleted_at is null)`;
    expect((await send("PUT", at, { ...hourly, target: own })).status).toBe(200);
    const restored = await send("POST", `${at}/versions/1/restore`);
    expect([restored.status, pathsOf(restored.json)]).toEqual([422, [path]]);
    await send("DELETE", at);
    const made = await send("POST", `${at}/versions/1/restore`);
    expect([made.status, pathsOf(made.json)]).toEqual([422, [path]]);
  });
});

test("The refusal of a reserved type says which types are allowed", async () => {
  const event = { detailType: "carillon.job.dead" };
  const { json } = await send("PUT", "/v1/schedules/a", { ...hourly, target: { event } });
  expect(json).toMatchObject({
    errors: [
      {
        path: "target.event.detailType",
        message:
          "may not begin with `carillon.`, in any letter case: such types are those of Carillon's own events; allowed are `carillon.job.due` and types that begin with another word",
      },
    ],
  });
});

test("A bulk patch to another source is refused for each schedule", async () => {
  await send("PUT", "/v1/schedules/bulk:1", { ...hourly, target: own });
  const body = {
    filter: { prefix: "bulk:" },
    reason: "a test",
    patch: { target: { event: { source: "billing" } } },
  };
  const { json } = await send("POST", "/v1/schedules:patch", body);
  expect(JSON.stringify(json)).toContain("is not among the sources of events");
  expect((await send("GET", "/v1/schedules/bulk:1")).json).toMatchObject({ target: own, version: 1 });
});

test("A schedule of a source that is no longer allowed can be edited otherwise", async () => {
  const path = "/v1/schedules/narrowed";
  await send("PUT", path, { ...hourly, target: own });
  await api.sql`
    update carillon.schedule_versions
    set target = '{"event": {"bus": "default", "source": "billing", "detailType": "due"}}'
    where schedule_id = (select id from carillon.schedules where key = 'narrowed')`;
  expect((await send("PATCH", path, { description: "x" })).status).toBe(200);
  expect((await send("POST", `${path}/pause`, {})).status).toBe(200);
});
