import { expect, test } from "vitest";
import { makeApi } from "../../lib/api/handler.ts";
import type { Operations } from "../../lib/api/operations/operations.ts";
import type { Cors } from "../../lib/api/request/cors.ts";
import { corsFrom } from "../../lib/api/request/cors.ts";
import { type Charge, free } from "../../lib/api/request/cost.ts";
import { Problem, problemDocument, problemKinds } from "../../lib/api/request/problem.ts";
import { byToken } from "../../lib/api/sign-in/authenticate.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { jsonLog } from "../../lib/log/log.ts";
import { Refusal } from "../../lib/refusal.ts";
import { type EventParts, httpEvent, invocation } from "./http-event.ts";

interface Setting {
  /** The error of every operation; without one they succeed. */
  failure?: unknown;
  admit?: () => Promise<Charge>;
  requireIfMatch?: boolean;
}

const origin = "https://app.example.com";

/** The API's handler over operations that succeed, or fail as configured. */
function setup({ failure, admit = async () => free, requireIfMatch = false }: Setting) {
  const operation = async () => {
    if (failure !== undefined) throw failure;
  };
  const operations: Operations = Object.assign(Object.create(null), {
    readSchedule: operation,
    deleteSchedule: operation,
    health: operation,
  });
  const cors: Cors | null = corsFrom({ API_CORS_ORIGINS: origin });
  const api = makeApi({
    operations,
    authenticate: byToken(async (bearer) =>
      bearer === "read" || bearer === "admin"
        ? {
            id: "1",
            name: bearer,
            scope: bearer,
            prefix: null,
            team: null,
            expiresAt: null,
            rates: [],
            isUseNoted: true,
          }
        : null,
    ),
    answerOnce: (_request, answer) => answer(),
    cursorKey: async () => Buffer.alloc(32),
    admit,
    noteUse: async () => {},
    requireIfMatch,
    cors,
    clock: { now: () => new Date(0), sleep: async () => {} },
    log: jsonLog(() => {}),
  });
  return (method: string, path: string, { as = "admin", ...parts }: EventParts & { as?: string } = {}) => {
    const headers = { authorization: `Bearer ${as}`, ...parts.headers };
    return api(httpEvent(method, path, { ...parts, headers }), invocation);
  };
}

interface Asked extends EventParts, Setting {
  as?: string;
}

const remove = ["DELETE", "/v1/schedules/a"] as const;
const used = async () => Promise.reject(new Problem("too-many", "The rate is used up."));

const errors: readonly [status: number, method: string, path: string, asked: Asked][] = [
  [400, "GET", "/v1/schedules", { query: "colour=red" }],
  [400, "PUT", "/v1/schedules/a", { body: { when: "every 5m", payload: 1, odd: true } }],
  [401, ...remove, { as: "nobody" }],
  [403, ...remove, { as: "read" }],
  [404, "GET", "/v1/nothing", {}],
  [404, ...remove, { failure: new Refusal("missing", "There is none.") }],
  [405, "PUT", "/v1/schedules", {}],
  [405, "POST", "/health", {}],
  [409, ...remove, { failure: new Refusal("conflict", "It exists.") }],
  [412, ...remove, { failure: new Refusal("precondition", "It is another version.") }],
  [413, "PUT", "/v1/schedules/a", { body: `"${"x".repeat(6_000_000)}"` }],
  [415, "PUT", "/v1/schedules/a", { body: "a", headers: { "content-type": "text/plain" } }],
  [422, ...remove, { failure: new Refusal("impossible", "No.", [{ path: "when", message: "no" }]) }],
  [428, ...remove, { requireIfMatch: true }],
  [429, ...remove, { admit: used }],
  [500, ...remove, { failure: new Error("a fault of the code") }],
  [500, "GET", "/health", { failure: new Error("a fault of the code") }],
  [503, ...remove, { failure: new ConnectionLost("it has ended") }],
];

test.each(errors)(
  "An answer %i to %s %s has its request id in a header and in its body",
  async (...asked) => {
    const [status, method, path, { failure, admit, requireIfMatch, ...parts }] = asked;
    const setting = { failure, ...(admit && { admit }), ...(requireIfMatch && { requireIfMatch }) };
    const { statusCode, headers, body } = await setup(setting)(method, path, parts);
    expect(statusCode).toBe(status);
    expect(headers["request-id"]).toBe(invocation.awsRequestId);
    expect(JSON.parse(body).requestId).toBe(invocation.awsRequestId);
  },
);

test("The statuses that are asked for a request id are those of all problems", () => {
  const all = problemKinds.map((kind) => problemDocument(kind, { detail: "" }).status);
  expect([...new Set(errors.map(([status]) => status))]).toEqual([...new Set(all)].sort((a, b) => a - b));
});

test("An answer without an error has its request id, which pages of other origins may read", async () => {
  const send = setup({});
  const health = await send("GET", "/health", { headers: { origin } });
  expect(health).toMatchObject({ statusCode: 200, headers: { "request-id": invocation.awsRequestId } });
  expect(health.headers["access-control-expose-headers"]).toContain("request-id");
  const preflight = await send("OPTIONS", "/v1/schedules/a", {
    headers: { origin, "access-control-request-method": "PUT" },
  });
  expect(preflight).toMatchObject({ statusCode: 204, headers: { "request-id": invocation.awsRequestId } });
});
