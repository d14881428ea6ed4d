import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type OwnApi, ownApi } from "./own-api.ts";

/** A caller tries every way in to use the targets of other keys. */
let api: OwnApi;
beforeAll(async () => {
  const entries = ["good:=queue/good-*", "good:=source/carillon", "good:=handler/greet"];
  api = await ownApi({ TARGET_PREFIXES: entries.join("\n") });
});
afterAll(() => api.stop());

const send = (method: string, path: string, body?: object) =>
  api.send(method, path, { as: "admin", ...(body === undefined ? {} : { body }) });

const hourly = { when: "every 1h" };
const free = { queue: "free" };

const problem = z.object({ errors: z.array(z.object({ path: z.string(), message: z.string() })) });
const faultsOf = (json: unknown) =>
  problem.parse(json).errors.map(({ path, message }) => `${path} ${message}`);
const isForOthers = "is for schedules with other keys alone (targetPrefixes)";

const kept: readonly [target: object, path: string][] = [
  [{ queue: "good-mails" }, "target.queue"],
  [{ event: {} }, "target.event.source"],
  [{ handler: "greet" }, "target.handler"],
];

test.each(kept)(
  "a target of other keys is refused by a put, a post, a preview and a job, and none names the prefix: %j",
  async (target, path) => {
    for (const refused of [
      await send("PUT", "/v1/schedules/evil:a", { ...hourly, target }),
      await send("POST", "/v1/schedules", { key: "evil:a", ...hourly, target }),
      await send("POST", "/v1/schedules", { ...hourly, target }),
      await send("POST", "/v1/preview", { key: "evil:a", ...hourly, target }),
      await send("POST", "/v1/jobs", { key: "evil:a", target }),
      await send("POST", "/v1/jobs", { target }),
    ]) {
      expect(refused.status).toBe(422);
      expect(faultsOf(refused.json)).toEqual([`${path} ${isForOthers}`]);
      expect(JSON.stringify(refused.json)).not.toContain("good:");
    }
    expect((await send("PUT", "/v1/schedules/good:a", { ...hourly, target })).status).toBeLessThan(202);
  },
);

test("a pulse to a target of other keys is refused", async () => {
  const pulse = { ...hourly, delivery: "pulse", target: { queue: "good-mails" } };
  expect((await send("PUT", "/v1/schedules/evil:p", pulse)).status).toBe(422);
  expect((await send("PUT", "/v1/schedules/good:p", pulse)).status).toBe(201);
});

test.each(kept)(
  "a target of other keys is refused by each patch of a schedule, which stays as it was: %j",
  async (target) => {
    await send("PUT", "/v1/schedules/evil:b", { ...hourly, target: free });
    const unset = { handler: null, queue: null, event: null };
    const patch = { target: { ...unset, ...target } };
    const batch = {
      operations: [
        { patch: { key: "evil:b", ...patch } },
        { put: { key: "evil:c", ...hourly, target } },
        { job: { key: "evil:d", target } },
      ],
    };
    expect((await send("PATCH", "/v1/schedules/evil:b", patch)).status).toBe(422);
    expect((await send("POST", "/v1/schedules:batch", batch)).json).toMatchObject({
      results: [{ status: 422 }, { status: 422 }, { status: 422 }],
    });
    const bulk = await send("POST", "/v1/schedules:patch", {
      filter: { prefix: "evil:" },
      reason: "a test",
      patch,
    });
    expect(JSON.stringify(bulk.json)).toContain(isForOthers);
    expect((await send("GET", "/v1/schedules/evil:b")).json).toMatchObject({ target: free });
  },
);

test("a schedule whose target has since been kept for other keys takes patches of other fields", async () => {
  await send("PUT", "/v1/schedules/evil:e", { ...hourly, target: free });
  await api.sql`update carillon.schedule_versions set target = '{"queue": "good-mails"}' where schedule_id = (select id from carillon.schedules where key = 'evil:e')`;
  expect((await send("PATCH", "/v1/schedules/evil:e", { payload: 1 })).status).toBe(200);
  expect((await send("PATCH", "/v1/schedules/evil:e", { target: { groupId: "a" } })).status).toBe(422);
});

test("a version with a target of other keys is not restored", async () => {
  await send("PUT", "/v1/schedules/evil:f", { ...hourly, target: free });
  await api.sql`update carillon.schedule_versions set target = '{"queue": "good-mails"}' where schedule_id = (select id from carillon.schedules where key = 'evil:f')`;
  await send("PUT", "/v1/schedules/evil:f", { ...hourly, target: { queue: "other" } });
  const refused = await send("POST", "/v1/schedules/evil:f/versions/1/restore");
  expect([refused.status, faultsOf(refused.json)]).toEqual([422, [`target.queue ${isForOthers}`]]);
});
