import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { type ApiAnswer, type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi({
    TARGET_ACCOUNT: "000000000000",
    TARGET_QUEUES: "arn:aws:sqs:us-east-1:000000000000:own-*",
  });
});
afterAll(() => api.stop());

const problem = z.object({ errors: z.array(z.object({ path: z.string(), message: z.string() })) });
const paths = (json: unknown) =>
  problem
    .parse(json)
    .errors.map(({ path }) => path)
    .sort();

/** A payload that the handler `greet` does not take. */
const unfit = { target: { handler: "greet" }, payload: { name: 7 } };
const unknown = { target: { handler: "gret" } };
const foreign = { target: { queue: "other" } };
const badWhen = { when: "evry 5m" };
const bad = { ...badWhen, timezone: "Berlin", odd: 1 };
const least = { when: "every 5m" };

interface Case {
  body: object;
  status?: number;
  errors: string[];
}

const cases: readonly [name: string, Case][] = [
  ["a payload, a when", { body: { ...unfit, ...badWhen }, errors: ["payload.name", "when"] }],
  [
    "a payload, a when, a zone, a field",
    { body: { ...unfit, ...bad }, errors: ["odd", "payload.name", "timezone", "when"] },
  ],
  [
    "an unknown handler, a when, a field",
    { body: { ...unknown, ...badWhen, odd: 1 }, errors: ["odd", "target.handler", "when"] },
  ],
  [
    "a forbidden queue, a zone",
    { body: { ...foreign, ...least, timezone: "x" }, errors: ["target.queue", "timezone"] },
  ],
  [
    "a payload, bounds, a serial without a group",
    {
      body: {
        ...unfit,
        ...least,
        serial: true,
        startsAt: "2030-01-02T00:00:00Z",
        endsAt: "2030-01-01T00:00:00Z",
      },
      errors: ["endsAt", "payload.name", "serial"],
    },
  ],
  [
    "a payload, a pulse's fields",
    {
      body: { ...unfit, ...least, delivery: "pulse", priority: "high" },
      status: 422,
      errors: ["payload.name", "priority", "target"],
    },
  ],
  [
    "a calendar, a when",
    {
      body: { target: { queue: "own-a" }, ...badWhen, calendar: { name: "no" } },
      errors: ["calendar.name", "when"],
    },
  ],
  ["a payload", { body: { ...unfit, ...least }, status: 422, errors: ["payload.name"] }],
];

const ways: readonly [way: string, send: (body: object) => Promise<ApiAnswer>, below: string][] = [
  ["PUT", (body) => api.send("PUT", "/v1/schedules/a", { body }), ""],
  ["POST", (body) => api.send("POST", "/v1/schedules", { body }), ""],
  [
    "a batch",
    (body) =>
      api.send("POST", "/v1/schedules:batch", {
        body: { operations: [{ put: { key: "a", ...body } }], atomic: true },
      }),
    "operations[0].put.",
  ],
];

test.each(ways.flatMap((way) => cases.map(([name, each]) => [name, way, each] as const)))(
  "All faults of a body are named at once: %s (case %$)",
  async (_name, [, send, below], { body, status = 400, errors }) => {
    const { status: answered, json } = await send(body);
    expect(paths(json)).toEqual(errors.map((path) => `${below}${path}`));
    expect(answered).toBe(below === "" ? status : 422);
  },
);

test("The faults of a body are named beside that of its key", async () => {
  const put = await api.send("PUT", "/v1/schedules/a", { body: { key: "b", ...unfit, ...badWhen } });
  expect(paths(put.json)).toEqual(["key", "payload.name", "when"]);
  const operations = [{ put: { ...unfit, ...bad } }];
  const batch = await api.send("POST", "/v1/schedules:batch", { body: { operations, atomic: true } });
  expect(paths(batch.json)).toEqual(
    ["key", "odd", "payload.name", "timezone", "when"].map((path) => `operations[0].put.${path}`),
  );
});

test("All faults of a job and of a preview are named at once", async () => {
  const job = await api.send("POST", "/v1/jobs", { body: { ...unfit, at: "soon", odd: 1 } });
  expect(paths(job.json)).toEqual(["at", "odd", "payload.name"]);
  const preview = await api.send("POST", "/v1/preview", { body: { ...unfit, ...bad, n: -1 } });
  expect(paths(preview.json)).toEqual(["n", "odd", "payload.name", "timezone", "when"]);
  const untargeted = await api.send("POST", "/v1/preview", { body: bad });
  expect(paths(untargeted.json)).toEqual(["odd", "timezone", "when"]);
});

test("All faults of a patch are named at once", async () => {
  await api.send("PUT", "/v1/schedules/patched", { body: { ...least, target: { handler: "greet" } } });
  const patch = (body: object) => api.send("PATCH", "/v1/schedules/patched", { body });
  const unfitted = await patch({ payload: { name: 7 }, ...badWhen });
  expect(paths(unfitted.json)).toEqual(["payload.name", "when"]);
  expect(paths((await patch({ payload: { name: 7 }, ...bad })).json)).toEqual([
    "odd",
    "payload.name",
    "timezone",
    "when",
  ]);
  // The payload of a schedule whose patch is refused for its target is no fault of the caller's.
  expect(paths((await patch({ payload: { name: 7 }, target: { queue: 7 }, timezone: 7 })).json)).toEqual([
    "target.queue",
    "timezone",
  ]);
  expect(
    paths((await patch({ target: { handler: null, ...foreign.target }, timezone: "Berlin" })).json),
  ).toEqual(["target.queue", "timezone"]);
  const operations = [{ patch: { key: "patched", payload: { name: 7 }, timezone: "Berlin" } }];
  const batch = await api.send("POST", "/v1/schedules:batch", { body: { operations } });
  const [failed] = z.object({ results: z.array(z.object({ error: z.unknown() })) }).parse(batch.json).results;
  expect(paths(failed?.error)).toEqual(["patch.payload.name", "patch.timezone"]);
  expect(paths((await patch({ ...unknown, ...bad })).json)).toEqual([
    "odd",
    "target.handler",
    "timezone",
    "when",
  ]);
  expect(paths((await patch({ key: "other", ...bad })).json)).toEqual(["key", "odd", "timezone", "when"]);
});
