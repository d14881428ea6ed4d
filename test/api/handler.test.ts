import { describe, expect, test } from "vitest";
import { makeApi } from "../../lib/api/handler.ts";
import type { Operations } from "../../lib/api/operations/operations.ts";
import { free } from "../../lib/api/request/cost.ts";
import { byToken, type FindToken } from "../../lib/api/sign-in/authenticate.ts";
import { ConnectionLost } from "../../lib/db/connection-lost.ts";
import { jsonLog } from "../../lib/log/log.ts";
import { Refusal } from "../../lib/refusal.ts";
import type { PresentedToken } from "../../lib/token/token.ts";
import { type EventParts, httpEvent, invocation } from "./http-event.ts";

const plain = { prefix: null, team: null, expiresAt: null, rates: [], isUseNoted: true };

const tokens: Readonly<Record<string, PresentedToken>> = {
  reader: { id: "1", name: "reader", scope: "read", ...plain },
  writer: { id: "2", name: "writer", scope: "write", ...plain },
  admin: { id: "3", name: "admin", scope: "admin", ...plain },
};

/** The API over operations that only record their calls, or that fail as configured. */
function setup({ failure, findToken }: { failure?: unknown; findToken?: FindToken } = {}) {
  const reached: { operation: string; params: unknown }[] = [];
  const lines: string[] = [];
  const operation = (name: string) => async (params: unknown) => {
    reached.push({ operation: name, params });
    throw failure ?? new Refusal("missing", "Nothing is stored here.");
  };
  const noSteps = () => {
    throw new Refusal("missing", "No move is stored here.");
  };
  const operations: Operations = {
    besides: () => [],
    putSchedule: operation("putSchedule"),
    createSchedule: operation("createSchedule"),
    patchSchedule: operation("patchSchedule"),
    deleteSchedule: operation("deleteSchedule"),
    applyBatch: operation("applyBatch"),
    pauseSchedule: operation("pauseSchedule"),
    resumeSchedule: operation("resumeSchedule"),
    readSchedule: operation("readSchedule"),
    listSchedules: operation("listSchedules"),
    countSchedules: operation("countSchedules"),
    nextOccurrences: operation("nextOccurrences"),
    previewSchedule: operation("previewSchedule"),
    explain: operation("explain"),
    versionsOfSchedule: operation("versionsOfSchedule"),
    restoreVersion: operation("restoreVersion"),
    tryRestore: operation("tryRestore"),
    bulk: { change: operation("changeMany"), preview: operation("previewMany") },
    fireNow: operation("fireNow"),
    backfillSchedule: operation("backfillSchedule"),
    jobsOfSchedule: operation("jobsOfSchedule"),
    readJob: operation("readJob"),
    isJobUnder: operation("isJobUnder"),
    deadJobs: operation("deadJobs"),
    searchKey: operation("searchKey"),
    searchJobs: operation("searchJobs"),
    cancelJob: operation("cancelJob"),
    retryJob: operation("retryJob"),
    failures: {
      group: operation("failures.group"),
      ofEntries: operation("failures.ofEntries"),
      countEntries: operation("failures.countEntries"),
      cancelDryRun: operation("failures.cancelDryRun"),
      retryDryRun: operation("failures.retryDryRun"),
    },
    jobCounts: {
      dead: operation("jobCounts.dead"),
      ofKey: operation("jobCounts.ofKey"),
      all: operation("jobCounts.all"),
    },
    cancelMany: operation("cancelMany"),
    retryMany: operation("retryMany"),
    putCalendar: operation("putCalendar"),
    readCalendar: operation("readCalendar"),
    calendarImpact: operation("calendarImpact"),
    listCalendars: operation("listCalendars"),
    removeCalendar: operation("removeCalendar"),
    pauseLabel: operation("pauseLabel"),
    resumeLabel: operation("resumeLabel"),
    readLabel: operation("readLabel"),
    cancelLabel: operation("cancelLabel"),
    readHolds: operation("readHolds"),
    readEndedHolds: operation("readEndedHolds"),
    listGroups: operation("listGroups"),
    enqueueJob: operation("enqueueJob"),
    setLimits: operation("setLimits"),
    clearLimits: operation("clearLimits"),
    readLimits: operation("readLimits"),
    listLimits: operation("listLimits"),
    readZoneData: async () => operation("readZoneData")({}),
    credentials: {
      list: () => operation("credentials.list")({}),
      make: operation("credentials.make"),
      sealAgain: operation("credentials.sealAgain"),
    },
    moves: {
      begin: operation("moves.begin"),
      list: () => operation("moves.list")({}),
      read: operation("moves.read"),
      forget: operation("moves.forget"),
      source: noSteps,
      beginArrival: operation("moves.beginArrival"),
      readArrival: operation("moves.readArrival"),
      destination: noSteps,
    },
    zoneMoves: operation("zoneMoves"),
    readProblems: operation("readProblems"),
    readStats: () => operation("readStats")(undefined),
    readPrefixStats: operation("readPrefixStats"),
    readSeries: operation("readSeries"),
    readForecast: operation("readForecast"),
    readOutages: operation("readOutages"),
    agenda: {
      now: () => operation("agenda.now")(null),
      read: operation("agenda.read"),
      count: operation("agenda.count"),
      countSchedules: operation("agenda.countSchedules"),
      strip: operation("agenda.strip"),
      last: operation("agenda.last"),
    },
    readAudit: operation("readAudit"),
    tokens: {
      create: operation("createToken"),
      read: operation("readToken"),
      list: operation("listTokens"),
      rotate: operation("rotateToken"),
      remove: operation("removeToken"),
      readOwn: operation("readOwn"),
      quotas: operation("quotas"),
    },
    inbox: {
      apply: async () => operation("applyInbox")(undefined),
      listRefused: operation("listInboxErrors"),
      readRefused: async () => null,
      removeRefused: operation("removeInboxError"),
    },
    listQuarantine: operation("listQuarantine"),
    retryQuarantine: operation("retryQuarantine"),
    commands: {
      list: operation("listDeadCommands"),
      read: operation("readDeadCommand"),
      retry: operation("retryDeadCommand"),
      remove: operation("removeDeadCommand"),
    },
    health: async () => {
      if (failure !== undefined) throw failure;
    },
  };
  const api = makeApi({
    operations,
    authenticate: byToken(findToken ?? (async (bearer) => tokens[bearer] ?? null)),
    answerOnce: (_request, answer) => answer(),
    cursorKey: async () => Buffer.alloc(32),
    admit: async () => free,
    noteUse: async () => {},
    clock: { now: () => new Date(0), sleep: async () => {} },
    log: jsonLog((line) => lines.push(line)),
  });
  const send = async (
    method: string,
    path: string,
    { as = "admin", ...parts }: EventParts & { as?: string } = {},
  ) => {
    const authorization = as === "" ? {} : { authorization: `Bearer ${as}` };
    const response = await api(
      httpEvent(method, path, { ...parts, headers: { ...authorization, ...parts.headers } }),
      invocation,
    );
    return { ...response, json: response.body === "" ? undefined : JSON.parse(response.body) };
  };
  return { send, reached, lines };
}

const least = { when: "every 5m", target: { queue: "demo" } };

describe("requests without a known token", () => {
  test.each([
    ["GET", "/v1/schedules"],
    ["PUT", "/v1/schedules/a"],
    ["GET", "/nowhere"],
    ["GET", "/"],
    ["BREW", "/v1/schedules"],
    ["POST", "/health"],
    ["GET", "/health/"],
    ["GET", "/v1/schedules/%zz"],
  ])("%s %s without a known token answers 401", async (method, path) => {
    const { send, reached } = setup();
    for (const headers of [
      {},
      { authorization: "Bearer unknown" },
      { authorization: "Basic YTpi" },
      { authorization: "Bearer" },
      { authorization: "admin" },
    ]) {
      const {
        statusCode,
        headers: answered,
        json,
      } = await send(method, path, { as: "", headers, body: "{", query: "%zz" });
      expect(statusCode).toBe(401);
      expect(answered["www-authenticate"]).toContain("Bearer");
      expect(answered["content-type"]).toBe("application/problem+json");
      expect(json).toMatchObject({ type: "urn:carillon:problem:unauthorized", status: 401 });
    }
    expect(reached).toEqual([]);
  });

  test("The health probe needs no token", async () => {
    const { send } = setup();
    expect(await send("GET", "/health", { as: "" })).toMatchObject({
      statusCode: 200,
      json: { status: "ok" },
    });
  });
});

describe("a path", () => {
  test("An unknown path answers 404; a known path with another method answers 405 with the allowed methods", async () => {
    const { send } = setup();
    expect((await send("GET", "/v1/nowhere")).statusCode).toBe(404);
    expect((await send("GET", "/v1/schedules/")).statusCode).toBe(404);
    expect((await send("GET", "/v1/schedules/a/b/c")).statusCode).toBe(404);
    const refused = await send("POST", "/v1/schedules/a");
    expect(refused.statusCode).toBe(405);
    expect(refused.headers["allow"]).toBe("DELETE, GET, PATCH, PUT");
  });

  test("A name in a path that the gateway did not decode is decoded, and refused if that fails", async () => {
    const { send, reached } = setup();
    await send("GET", "/v1/schedules/%C3%BC%20b");
    expect(reached).toEqual([{ operation: "readSchedule", params: "ü b" }]);
    expect((await send("GET", "/v1/schedules/%C3")).statusCode).toBe(400);
    expect((await send("GET", "/v1/schedules/a%2Fb")).json.errors).toMatchObject([{ path: "key" }]);
  });

  test("The fixed parts of a path are not decoded, so no path passes a policy or a firewall as another one", async () => {
    const { send, reached } = setup();
    for (const [method, path] of [
      ["GET", "/v1/%73chedules"],
      ["GET", "/%761/schedules/a"],
      ["POST", "/v1/schedules/a/%70ause"],
    ] as const)
      expect((await send(method, path)).statusCode).toBe(404);
    expect(reached).toEqual([]);
  });
});

describe("scopes", () => {
  test("A token of scope read reads, and cannot change anything", async () => {
    const { send, reached } = setup();
    expect((await send("GET", "/v1/schedules/a", { as: "reader" })).statusCode).toBe(404);
    for (const [method, path] of [
      ["PUT", "/v1/schedules/a"],
      ["POST", "/v1/schedules"],
      ["PATCH", "/v1/schedules/a"],
      ["DELETE", "/v1/schedules/a"],
      ["POST", "/v1/schedules/a/pause"],
      ["POST", "/v1/schedules/a/resume"],
    ] as const) {
      expect((await send(method, path, { as: "reader", body: least })).statusCode).toBe(403);
    }
    expect(reached).toHaveLength(1);
  });

  test("A token of scope write sets holds in its own name only, one of scope admin in any name", async () => {
    const { send, reached } = setup();
    expect(
      (await send("POST", "/v1/schedules/a/pause", { as: "writer", body: { owner: "ops" } })).statusCode,
    ).toBe(403);
    expect(
      (await send("POST", "/v1/schedules/a/resume", { as: "writer", body: { owner: "ops" } })).statusCode,
    ).toBe(403);
    expect(reached).toEqual([]);
    await send("POST", "/v1/schedules/a/pause", { as: "writer", body: { owner: "writer" } });
    await send("POST", "/v1/schedules/a/resume", { as: "admin", body: { owner: "ops" } });
    expect(reached).toMatchObject([{ params: { owner: "writer" } }, { params: { owner: "ops" } }]);
  });
});

describe("parameters of operations", () => {
  test("PUT passes every part of the request to the operation", async () => {
    const { send, reached } = setup();
    await send("PUT", "/v1/schedules/a", {
      body: { key: "a", ...least },
      headers: { "if-match": '"2", "3"', "if-none-match": "*" },
    });
    expect(reached).toMatchObject([
      {
        operation: "putSchedule",
        params: {
          key: "a",
          ifMatch: [2, 3],
          ifNoneMatch: true,
          caller: { name: "admin" },
          body: { when: "every 5m" },
        },
      },
    ]);
  });

  test("Each method passes its parameters to its operation", async () => {
    const { send, reached } = setup();
    await send("POST", "/v1/schedules", { body: { key: "b", ...least } });
    await send("POST", "/v1/schedules", { body: least });
    await send("PATCH", "/v1/schedules/a", { body: { description: null }, headers: { "if-match": "*" } });
    await send("DELETE", "/v1/schedules/a");
    await send("POST", "/v1/schedules/a/pause", {
      body: { reason: "quiet", until: "2030-01-01T01:00:00+01:00" },
    });
    await send("POST", "/v1/schedules/a/pause");
    await send("GET", "/v1/schedules", {
      query: "prefix=order%3A&state=paused&target=queue&limit=7&tag=x+y",
    });
    await send("GET", "/v1/schedules/a/next", { query: "n=3&from=2030-01-01T00:00:00Z" });
    await send("GET", "/v1/schedules/a/jobs");
    await send("GET", "/v1/jobs/j1");
    expect(reached).toMatchObject([
      { operation: "createSchedule", params: { key: "b" } },
      { operation: "createSchedule", params: { body: { when: "every 5m" } } },
      { operation: "patchSchedule", params: { key: "a", patch: { description: null }, ifMatch: "*" } },
      { operation: "deleteSchedule", params: { key: "a" } },
      { operation: "pauseSchedule", params: { reason: "quiet", until: new Date("2030-01-01T00:00:00Z") } },
      { operation: "pauseSchedule", params: { key: "a", caller: { name: "admin" } } },
      {
        operation: "listSchedules",
        params: { prefix: "order:", state: "paused", target: "queue", limit: 7, tag: "x y" },
      },
      { operation: "nextOccurrences", params: { n: 3, from: Date.parse("2030-01-01T00:00:00Z") } },
      { operation: "jobsOfSchedule", params: { key: "a", limit: 50 } },
      { operation: "readJob", params: "j1" },
    ]);
  });
});

describe("bad input", () => {
  test.each<[string, string, EventParts, number, string[]]>([
    ["PUT", "/v1/schedules/a", {}, 400, [""]],
    ["PUT", "/v1/schedules/a", { body: "{" }, 400, []],
    ["PUT", "/v1/schedules/a", { body: "[]" }, 400, [""]],
    ["PUT", "/v1/schedules/a", { body: { when: 1 } }, 400, ["target", "when"]],
    ["PUT", "/v1/schedules/a", { body: { ...least, key: "b", nope: 1 } }, 400, ["key", "nope"]],
    ["PUT", "/v1/schedules/ a", { body: least }, 400, ["key"]],
    ["PUT", "/v1/schedules/a", { body: { ...least, serial: true } }, 400, ["serial"]],
    ["PUT", "/v1/schedules/a", { body: { ...least, delivery: "pulse", maxFires: 3 } }, 422, ["maxFires"]],
    ["PUT", "/v1/schedules/a", { body: least, headers: { "content-type": "text/plain" } }, 415, []],
    ["PUT", "/v1/schedules/a", { body: "x".repeat(5 * 1024 * 1024 + 1) }, 413, []],
    ["PUT", "/v1/schedules/a", { body: least, headers: { "if-match": "3" } }, 400, ["If-Match"]],
    ["PUT", "/v1/schedules/a", { body: least, headers: { "if-none-match": '"3"' } }, 400, ["If-None-Match"]],
    ["PUT", "/v1/schedules/a", { body: least, query: "force=1" }, 400, ["force"]],
    ["POST", "/v1/schedules", { body: { ...least, key: "a/b", tags: 1 } }, 400, ["key", "tags"]],
    ["POST", "/v1/schedules", { body: { ...least, key: null } }, 400, ["key"]],
    ["PATCH", "/v1/schedules/a", { body: { key: "b" } }, 400, ["key"]],
    ["PATCH", "/v1/schedules/a", {}, 400, [""]],
    [
      "POST",
      "/v1/schedules/a/pause",
      { body: { until: "tomorrow", owner: "", why: 1 } },
      400,
      ["owner", "until", "why"],
    ],
    ["POST", "/v1/schedules/a/pause", { body: { until: "0000-01-01T00:00:00Z" } }, 400, ["until"]],
    ["POST", "/v1/schedules/a/pause", { body: "null" }, 400, [""]],
    ["GET", "/v1/schedules", { query: "limit=0&colour=red&state=asleep" }, 400, ["colour", "limit", "state"]],
    ["GET", "/v1/schedules", { query: "limit=101" }, 400, ["limit"]],
    ["GET", "/v1/schedules", { query: "limit=1&limit=2" }, 400, ["limit"]],
    ["GET", "/v1/schedules", { query: "prefix=%00" }, 400, ["prefix"]],
    ["GET", "/v1/schedules", { query: "prefix=%zz" }, 400, ["query"]],
    ["GET", "/v1/schedules", { query: "cursor=abc" }, 400, ["cursor"]],
    ["GET", "/v1/schedules", { query: "__proto__=1" }, 400, ["__proto__"]],
    ["GET", "/v1/schedules/a", { query: "x=" }, 400, ["x"]],
    ["GET", "/v1/schedules/a/next", { query: "n=-1&from=now" }, 400, ["from", "n"]],
    ["GET", "/v1/schedules/a/jobs", { query: "cursor=abc" }, 400, ["cursor"]],
  ])(
    "%s %s (case %$) with bad input is refused with the path of each fault, before any operation",
    async (method, path, parts, status, paths) => {
      const { send, reached } = setup();
      const { statusCode, headers, json } = await send(method, path, parts);
      expect(statusCode).toBe(status);
      expect(headers["content-type"]).toBe("application/problem+json");
      expect(json).toMatchObject({ status, title: expect.any(String), detail: expect.any(String) });
      expect((json.errors ?? []).map((fault: { path: string }) => fault.path).sort()).toEqual(paths);
      expect(reached).toEqual([]);
    },
  );
});

describe("failures", () => {
  test("An unexpected failure answers 500 without details, and the log has its cause under the request id", async () => {
    const { send, lines } = setup({ failure: new Error("relation secrets does not exist") });
    const { statusCode, body, json } = await send("GET", "/v1/schedules/a\nb");
    expect(statusCode).toBe(400);
    expect(body).not.toContain("relation");
    const failed = await send("GET", "/v1/schedules/a");
    expect(failed.statusCode).toBe(500);
    expect(failed.body).not.toContain("secrets");
    expect(failed.json.requestId).toBe("request-1");
    expect(lines.join("\n")).toContain("relation secrets does not exist");
    expect(json.requestId).toBe("request-1");
  });

  test("A database failure answers 503, also for the health probe and for the token's lookup", async () => {
    const failure = new ConnectionLost("it has ended");
    const { send } = setup({ failure });
    const down = setup({ findToken: async () => Promise.reject(failure) });
    for (const answer of [
      await send("GET", "/health", { as: "" }),
      await send("GET", "/v1/schedules/a"),
      await down.send("GET", "/v1/schedules/a"),
    ]) {
      expect(answer.statusCode).toBe(503);
      expect(answer.headers["retry-after"]).toBe("2");
    }
  });

  test.each([
    ["invalid", 400],
    ["missing", 404],
    ["conflict", 409],
    ["precondition", 412],
    ["impossible", 422],
  ] as const)("A refusal of kind %s answers %i", async (kind, status) => {
    const { send } = setup({ failure: new Refusal(kind, "As it is.", [{ path: "when", message: "no" }]) });
    expect(await send("DELETE", "/v1/schedules/a")).toMatchObject({
      statusCode: status,
      json: {
        status,
        type: `urn:carillon:problem:${kind}`,
        detail: "As it is.",
        errors: [{ path: "when", message: "no" }],
      },
    });
  });
});

describe("the log", () => {
  test("The log has one line per request with its outcome, and neither token nor payload", async () => {
    const { send, lines } = setup();
    await send("PUT", "/v1/schedules/a\nb", { body: { ...least, payload: "confidential" } });
    await send("GET", "/v1/schedules", { as: "wrong-secret" });
    expect(lines).toHaveLength(2);
    expect(lines.join("\n")).not.toMatch(/confidential|wrong-secret|Bearer/);
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      event: "api.request",
      status: 400,
      path: "/v1/schedules/a%0Ab",
      by: "admin",
    });
  });

  test("The line of a request tells apart tokens of two prefixes with the same name", async () => {
    const named = (id: string, prefix: string | null): PresentedToken => ({
      ...plain,
      id,
      name: "first",
      scope: "read",
      prefix,
    });
    const known: Readonly<Record<string, PresentedToken>> = {
      all: named("4", null),
      team: named("5", "shop:"),
    };
    const { send, lines } = setup({ findToken: async (bearer) => known[bearer] ?? null });
    for (const as of ["all", "team", "unknown"]) await send("GET", "/nowhere", { as });
    const [all, team, unknown] = lines.map((line) => JSON.parse(line));
    expect(all).toMatchObject({ by: "first", tokenId: "4", prefix: null });
    expect(team).toMatchObject({ by: "first", tokenId: "5", prefix: "shop:" });
    expect(Object.keys(unknown)).not.toContain("tokenId");
  });
});
