import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  objectsIn,
  oddNames,
  oddStrings,
  type Place,
  pathOf,
  replaced,
  stringsIn,
  valueAt,
} from "./odd-values.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

/**
 * Sends every string of the API with values that could break Postgres, an index, a queue or a
 * JavaScript object.
 */

let api: OwnApi;
beforeAll(async () => {
  api = await ownApi();
  api.betweenRequestsMs = 0;
  await api.send("PUT", "/v1/calendars/days-off", { body: { weekly: ["sun"] } });
});
afterAll(() => api.stop());

const targets = {
  handler: { handler: "greet" },
  queue: { queue: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders", attributes: { team: "shop" } },
  "queue's ARN": { queue: "arn:aws:sqs:eu-west-1:123456789012:orders.fifo", groupId: "group" },
  event: {
    event: {
      bus: "arn:aws:events:eu-west-1:123456789012:event-bus/main",
      source: "carillon",
      detailType: "carillon.job.due",
    },
  },
  webhook: {
    webhook: {
      url: "https://example.com/hook",
      method: "POST",
      headers: { "x-team": "shop", authorization: "Bearer abc" },
      secret: `whsec_${"QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY="}`,
    },
  },
  lambda: { lambda: "arn:aws:lambda:eu-west-1:123456789012:function:work:live", invocation: "async" },
};

/** A schedule with every string that the API knows. */
const schedule = {
  when: "0 9 * * 1-5",
  timezone: "Europe/Berlin",
  target: { queue: "demo" },
  payload: { name: "Ann", list: ["one"] },
  group: "order:1",
  priority: "high",
  tags: ["reports"],
  description: "A description.",
  startsAt: "2026-01-01T00:00:00Z",
  endsAt: "2199-01-01T00:00:00Z",
  calendar: { name: "days-off", on: "skip" },
  catchUp: { policy: "latest", within: "1h" },
  deadline: "1h",
  overlap: "skip",
  spread: "1m",
  slot: "1m",
  dst: { gap: "next", overlap: "first" },
  retry: { backoff: "fixed", base: "1s", max: "1m", jitter: "none" },
  timeout: "30s",
  delivery: "ledger",
};

const waits = { backoff: "list", delays: ["1s", "2s"] };

/** A patch names all kinds of targets, because it does not know the kind of the stored one. */
const none = {
  handler: null,
  queue: null,
  groupId: null,
  attributes: null,
  event: null,
  webhook: null,
  lambda: null,
  invocation: null,
};

const operations: Record<string, object> = {
  put: { put: { key: "odd", ...schedule } },
  "put of a list": {
    put: { key: "odd", when: ["every 1d", "0 9 * * *"], target: schedule.target, retry: waits },
  },
  ...Object.fromEntries(
    Object.entries(targets).map(([name, target]) => [
      `put to a ${name}`,
      { put: { key: "odd", when: "every 1d", target } },
    ]),
  ),
  patch: { patch: { key: "good", ...schedule, target: { ...none, queue: "demo" } } },
  "patch of a webhook": { patch: { key: "good", target: { ...none, ...targets.webhook } } },
  delete: { delete: "odd" },
  pause: { pause: { key: "good", reason: "under review", until: "2199-01-01T00:00:00Z", owner: "shop" } },
  resume: { resume: { key: "good", owner: "shop" } },
  job: {
    job: {
      key: "odd-job",
      at: "in 5m",
      ifExists: "replace",
      target: schedule.target,
      payload: schedule.payload,
      group: schedule.group,
      priority: schedule.priority,
      tags: schedule.tags,
      description: schedule.description,
      deadline: schedule.deadline,
      retry: schedule.retry,
      timeout: schedule.timeout,
    },
  },
};

interface Result {
  status: number;
  error?: { errors?: { path: string }[] };
}

/**
 * A 400 must have the path of the fault or of an object above it, because a target has several
 * forms.
 */
function expectPath(place: Place, { status, error }: Result) {
  if (status !== 400) return;
  const path = pathOf(place);
  const faults = error?.errors?.map((each) => each.path) ?? [];
  expect(
    faults.filter((each) => each !== "" && (path.startsWith(each) || each.startsWith(path))),
    `${path} among ${JSON.stringify(faults)}`,
  ).not.toEqual([]);
}

async function expectAlone(operation: object, place: Place, others: readonly unknown[]) {
  const good = { put: { key: "good", when: "every 1d", target: { queue: "demo" } } };
  const sent = [good, ...others, good];
  const { status, json } = await api.send("POST", "/v1/schedules:batch", { body: { operations: sent } });
  expect(status, `${pathOf(place)} of ${JSON.stringify(operation)}`).toBe(200);
  const { results } = json as { results: Result[] };
  for (const each of [results.at(0), results.at(-1)]) expect(each?.status).toBeLessThan(300);
  for (const each of results.slice(1, -1)) {
    expect(each.status).toBeLessThan(500);
    expectPath(place, each);
  }
  return results.slice(1, -1);
}

describe.each(Object.entries(operations))(
  "beside a %s with odd values, the others of a batch are done",
  (_, operation) => {
    test("An odd text in any field fails only its operation, with its path", async () => {
      for (const { place, text } of stringsIn(operation)) {
        const others = oddStrings(text).map((other) => replaced(operation, place, other));
        const results = await expectAlone(operation, place, [operation, ...others]);
        expect(results[0], "as it is").toMatchObject({ status: expect.toSatisfy((each) => each < 300) });
      }
    });

    test("An odd member name in any object fails only its operation, or is stored", async () => {
      for (const place of objectsIn(operation)) {
        if (place.length === 0) continue;
        const others = oddNames.map((name, n) => {
          const other = replaced(operation, [...place, name], "x");
          return "put" in operation ? replaced(other, ["put", "key"], `odd:${n}`) : other;
        });
        const results = await expectAlone(operation, place, others);
        for (const [n, { status }] of results.entries()) {
          if (status !== 201) continue;
          const { json } = await api.send("GET", `/v1/schedules/odd:${n}`);
          const at = [...place.slice(1), oddNames[n] ?? ""];
          expect(valueAt(json, at), pathOf(at)).toBeDefined();
          await api.send("DELETE", `/v1/schedules/odd:${n}`);
        }
      }
    });
  },
);
