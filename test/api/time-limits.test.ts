import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type RequestKind, type RequestLimits, requestLimits } from "../../lib/api/request/kinds.ts";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import { routes } from "./contract.ts";
import { type OwnApi, ownApi } from "./own-api.ts";

const schema = readFileSync(new URL("../fixtures/schema.sql", import.meta.url), "utf8");
const roleMs = Number(/^alter role carillon_api set statement_timeout=(\d+)s;$/m.exec(schema)?.[1]) * 1_000;

const soonMs = 300;
const lateMs = 60_000;

type Limits = RequestLimits[RequestKind];
const unhurried: Limits = { statementMs: null, wholeMs: lateMs };
const limitsOf = (limits: Limits): RequestLimits => ({
  read: limits,
  count: limits,
  edit: limits,
  bulk: limits,
});

/** A request of each kind that reads schedules. */
const requests: Readonly<Record<RequestKind, [method: string, path: string, body?: object]>> = {
  read: ["GET", "/v1/schedules/one"],
  count: ["GET", "/v1/schedules:count"],
  edit: ["PATCH", "/v1/schedules/one", { payload: 1 }],
  bulk: ["POST", "/v1/schedules:pause", { filter: { prefix: "one" } }],
};
const kinds = ["read", "count", "edit", "bulk"] as const;

const send = (api: OwnApi, kind: RequestKind) => {
  const [method, path, body] = requests[kind];
  return api.send(method, path, body === undefined ? {} : { body });
};

/** An API whose requests have the limits only while no statement can read schedules. */
async function withLimits(limits: Limits) {
  const now = { ...limitsOf(unhurried) };
  const api = await filled(now);
  const sendLocked = (kind: RequestKind) =>
    api.sql.begin(async (tx) => {
      await tx`lock table carillon.schedules in access exclusive mode`;
      Object.assign(now, limitsOf(limits));
      const answer = await send(api, kind);
      Object.assign(now, limitsOf(unhurried));
      return answer;
    });
  return { api, sendLocked };
}

async function filled(limits: RequestLimits): Promise<OwnApi> {
  const api = await ownApi({}, undefined, undefined, { limits });
  const put = await api.send("PUT", "/v1/schedules/one", {
    body: { when: "every 1h", target: { queue: "demo" } },
  });
  expect(put.status).toBe(201);
  return api;
}

describe("a statement that takes too long", () => {
  let own: Awaited<ReturnType<typeof withLimits>>;
  beforeAll(async () => {
    own = await withLimits({ statementMs: soonMs, wholeMs: lateMs });
  });
  afterAll(() => own.api.stop());

  test.each(["read", "edit", "bulk"] as const)(
    "is ended, and its request (%s) is to be sent again",
    async (kind) => {
      const { status, headers, json } = await own.sendLocked(kind);
      expect([status, headers["retry-after"]]).toEqual([503, "2"]);
      expect(json).toMatchObject({
        detail: "A statement of this request took too long and was ended; try again.",
      });
      expect((await send(own.api, kind)).status).toBe(200);
    },
  );

  test("is ended, and a count says how it becomes cheaper", async () => {
    const { status, json } = await own.sendLocked("count");
    expect(status).toBe(422);
    expect(json).toMatchObject({
      detail:
        "This takes the database longer than 0.3 s. Ask for less: a narrower filter, such as a longer prefix or one target, or a shorter time.",
    });
    expect((await send(own.api, "count")).status).toBe(200);
  });
});

describe("a request that takes too long as a whole", () => {
  let own: Awaited<ReturnType<typeof withLimits>>;
  beforeAll(async () => {
    own = await withLimits({ statementMs: null, wholeMs: 2_000 });
  });
  afterAll(() => own.api.stop());

  test.each(kinds)("is ended, and is to be sent again (%s)", async (kind) => {
    const { status, headers, json } = await own.sendLocked(kind);
    expect([status, headers["retry-after"]]).toEqual([503, "2"]);
    expect(json).toMatchObject({ detail: "The request took too long and was ended; try again." });
    expect((await send(own.api, kind)).status).toBe(200);
  });
});

test("The login counts toward the time of a request", async () => {
  const own = await filled({ ...requestLimits, bulk: { statementMs: null, wholeMs: 2_000 } });
  const { status, headers, json } = await own.sql.begin(async (tx) => {
    await tx`lock table carillon.tokens in access exclusive mode`;
    return send(own, "read");
  });
  expect([status, headers["retry-after"]]).toEqual([503, "2"]);
  // Not the answer of a wait for a lock, which ends after five seconds.
  expect(json).toMatchObject({ detail: "The database does not answer at the moment; try again." });
  await own.stop();
});

test("The longest request of each kind leaves the function three seconds for its answer, and a statement ends before its request", () => {
  for (const { statementMs, wholeMs } of Object.values(requestLimits)) {
    expect(wholeMs).toBeLessThanOrEqual((functionTimeoutSeconds.api - 3) * 1_000);
    expect(statementMs ?? roleMs).toBeLessThan(wholeMs);
  }
  expect(roleMs).toBe(6_000);
});

test("The table of time limits in docs/api.md has the limits of each kind", () => {
  const page = readFileSync(new URL("../../docs/api.md", import.meta.url), "utf8");
  const section = /\n### Time limits\n(.*?)\n#+ /s.exec(page)?.[1] ?? "";
  const rows = [...section.matchAll(/^\| `(\w+)` \| .+ \| (\d+) s \| (\d+) s \|$/gm)];
  expect(rows.map(([, kind, statement, whole]) => [kind, Number(statement), Number(whole)])).toEqual(
    Object.entries(requestLimits).map(([kind, { statementMs, wholeMs }]) => [
      kind,
      (statementMs ?? roleMs) / 1_000,
      wholeMs / 1_000,
    ]),
  );
});

test("Counts are GET requests or change nothing, and each route of many items has the limits of bulk", () => {
  const named = (kind: RequestKind) =>
    routes.filter((route) => route.kind === kind).map(({ method, path }) => `${method} ${path}`);
  expect(named("count")).toHaveLength(13);
  expect(named("count").filter((name) => !name.startsWith("GET "))).toEqual([
    "POST /v1/calendars/{name}/preview",
  ]);
  const ofMany = routes.filter(({ cost, scope }) => typeof cost !== "number" && scope !== "read");
  expect(ofMany.filter(({ kind }) => kind !== "bulk")).toEqual([]);
});
