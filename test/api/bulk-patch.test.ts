import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type OwnApi, ownApi } from "./own-api.ts";

let api: OwnApi;

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  const operations = [
    { put: { key: "a", when: "every 5m", target: { queue: "demo" } } },
    { put: { key: "b", when: "at 2099-01-01T09:00", target: { webhook: { url: "https://example.com/x" } } } },
  ];
  await api.send("POST", "/v1/schedules:batch", { body: { operations } });
});

afterAll(() => api.stop());

const patchAll = (patch: object, more: object = {}) =>
  api.send("POST", "/v1/schedules:patch", { body: { all: true, patch, ...more } });

/** Patches that are refused whatever they are merged with, each with the path of its fault. */
const unfit: [string, object][] = [
  ["when", { when: "evry 5m" }],
  ["when[1]", { when: ["every 5m", "61 * * * *"], timezone: "Europe/Berlin" }],
  ["timezone", { timezone: "Mars/Olympus" }],
  ["spread", { spread: "25h" }],
  ["endsAt", { startsAt: "2099-01-02T00:00:00Z", endsAt: "2099-01-01T00:00:00Z" }],
  ["slot", { spread: "13h", slot: "12h" }],
  ["payload", { payload: "x".repeat(300_000) }],
  ["tags[0]", { tags: [""] }],
  ["retry.atempts", { retry: { atempts: 3 } }],
  ["retry.attempts", { retry: { attempts: "3" } }],
  ["catchUp.policy", { catchUp: { policy: "some" } }],
  ["calendar.on", { calendar: { on: "never" } }],
  ["dst.gap", { dst: { gap: "both" } }],
  ["target.queu", { target: { queu: "demo" } }],
  ["target.queue", { target: { queue: 5 } }],
  ["target.event.sauce", { target: { event: { sauce: "x" } } }],
  ["target.webhook.url", { target: { webhook: { url: "ftp://example.com" } } }],
  ["target.webhook.headers.webhook-id", { target: { webhook: { headers: { "webhook-id": "1" } } } }],
];

/** Patches that one kind of schedule takes and another refuses, or that take members away. */
const fit: object[] = [
  { target: { attributes: { team: "crm" } } },
  { target: { webhook: { headers: { "x-team": "crm", "x-old": null }, secret: "***", method: null } } },
  { target: { queue: null, webhook: { url: "https://example.com/y" } } },
  { retry: { base: "2h" } },
  { retry: { delays: ["1s"] } },
  { retry: null, catchUp: { within: null }, dst: null, calendar: null, spread: null, tags: null },
  { delivery: "pulse" },
  { startsAt: "2099-01-02T00:00:00+01:00", slot: null, payload: { any: { thing: null } } },
];

describe("a bulk patch", () => {
  test.each(unfit)(
    "A bulk patch with a wrong `%s` is refused as a whole, by a dry run too",
    async (path, patch) => {
      for (const more of [{}, { dryRun: true }])
        expect(await patchAll(patch, more)).toMatchObject({
          status: 400,
          json: { errors: [{ path: `patch.${path}` }] },
        });
    },
  );

  test("A bulk patch is refused with all of its faults together", async () => {
    const { json } = await patchAll({ when: "evry 5m", retry: { attempts: 0, max: 1 }, spread: "x" });
    const { errors } = json as { errors: { path: string }[] };
    expect(errors.map(({ path }) => path).sort()).toEqual([
      "patch.retry.attempts",
      "patch.retry.max",
      "patch.spread",
      "patch.when",
    ]);
  });

  test.each(fit)(
    "A bulk patch that some schedule may take is judged with each schedule: %j",
    async (patch) => {
      expect(await patchAll(patch, { dryRun: true })).toMatchObject({ status: 200, json: { count: 2 } });
    },
  );
});
