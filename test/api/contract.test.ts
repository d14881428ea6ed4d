import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { bodyBytesMax } from "../../lib/api/request/json-body.ts";
import type { Route } from "../../lib/api/request/route.ts";
import { setAside } from "../../lib/quarantine/quarantine.ts";
import { findOperation, routes } from "./contract.ts";
import { madeUpCursor } from "./made-up-cursor.ts";
import { type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
/** An API that requires preconditions on writes. */
let careful: OwnApi;

const found = { key: "walk", name: "walk", target: "queue/demo", n: "1" };

beforeAll(async () => {
  api = await ownApi();
  careful = await ownApi({ REQUIRE_IF_MATCH: "true", WEBHOOK_FUNCTION: "" });
  await api.tick();
  const createOnly = { headers: { "if-none-match": "*" }, from: careful };
  await answers("PUT", "/v1/schedules/walk", 201, { body: schedule, ...createOnly });
  await answers("PUT", "/v1/calendars/walk", 201, { body: { dates: ["12-25"] }, ...createOnly });
  await answers("PUT", "/v1/limits/queue/demo", 200, { body: { concurrency: 1 }, ...createOnly });
  await answers("PUT", "/v1/limits/queue/demo", 200, { body: { concurrency: 1 } });
  await answers("PUT", "/v1/schedules/walk", 201, { body: schedule });
  await answers("PUT", "/v1/calendars/walk", 201, { body: { dates: ["12-25"] } });
});

afterAll(async () => {
  await api.stop();
  await careful.stop();
});

const schedule = { when: "every 1d", target: { queue: "demo" }, group: "walk", tags: ["walk"] };
const pulse = { ...schedule, delivery: "pulse", maxFires: 3 };

/** `api.send` has compared the exchange with the document; this checks for the expected status. */
async function answers(
  method: string,
  path: string,
  status: number,
  { from = api, ...parts }: SendParts & { from?: OwnApi } = {},
): Promise<unknown> {
  const answer = await from.send(method, path, parts);
  expect(`${method} ${path} ${answer.status}`, answer.body.slice(0, 500)).toBe(`${method} ${path} ${status}`);
  return answer.json;
}

const named = (route: Route) => ({ name: `${route.method} ${route.path}`, route });

/**
 * The path with the examples of its documentation, which match no resource, or with the given
 * values.
 */
function pathOf({ path }: Route, found: Readonly<Record<string, string>> = {}): string {
  const { parameters } = operationOf(path);
  return path.replace(/\{(\w+)\+?\}/g, (_, name: string) => {
    const example = parameters.find((each) => each.in === "path" && each.name === name)?.["example"];
    return encodeURIComponent(found[name] ?? String(example));
  });
}

function operationOf(path: string) {
  const route = routes.find((each) => each.path === path);
  const operation = findOperation(route?.method ?? "", path.replaceAll("+}", "}"))?.operation;
  if (operation === undefined) throw new Error(`The document has no path ${path}.`);
  return operation;
}

function partsOf({ doc, path }: Route): SendParts {
  const required = operationOf(path).parameters.filter((each) => each.in === "query" && each.required);
  const query = required.map(({ name }) => `${name}=2026-12-01T09:00:00Z`).join("&");
  return { ...(doc.body === undefined ? {} : { body: doc.body.example }), query };
}

const withBody = routes.filter(({ doc }) => doc.body !== undefined);
const answering = (status: number) =>
  routes.filter(({ doc }) => doc.problems?.some((problem) => problem === status) === true);

describe("every route", () => {
  test.each(routes.map(named))("$name answers 401 without a token", async ({ route }) => {
    await answers(route.method, pathOf(route), 401, { ...partsOf(route), as: "" });
  });

  test.each(routes.map(named))("$name answers 400 to an unknown query parameter", async ({ route }) => {
    await answers(route.method, pathOf(route), 400, { ...partsOf(route), query: "nonsense=1" });
  });

  test.each(routes.filter(({ scope }) => scope !== "read").map(named))(
    "$name answers 403 to a token of scope read",
    async ({ route }) => {
      await answers(route.method, pathOf(route), 403, { ...partsOf(route), as: "read" });
    },
  );

  test.each(withBody.map(named))(
    "$name answers 415 to a body that is not JSON and 413 to one that is too large",
    async ({ route }) => {
      const text = { ...partsOf(route), body: "when: now", headers: { "content-type": "text/yaml" } };
      await answers(route.method, pathOf(route, found), 415, text);
      const large = { ...partsOf(route), body: `"${"x".repeat(bodyBytesMax)}"` };
      await answers(route.method, pathOf(route, found), 413, large);
    },
  );

  test.each(answering(404).map(named))(
    "$name answers 404 where the resource does not exist",
    async ({ route }) => {
      const query = ["/v1/jobs", "/v1/jobs:count"].includes(route.path)
        ? "key=no-such"
        : partsOf(route).query;
      await answers(route.method, pathOf(route), 404, {
        ...partsOf(route),
        ...(query === undefined ? {} : { query }),
      });
    },
  );

  test.each(
    answering(412)
      .filter(({ doc }) => doc.headers?.includes("if-match"))
      .map(named),
  )("$name answers 412 to another version", async ({ route }) => {
    const headers = { "if-match": '"999"' };
    await answers(route.method, pathOf(route, found), 412, { ...partsOf(route), headers });
  });

  test.each(answering(428).map(named))(
    "$name answers 428 where a precondition is required",
    async ({ route }) => {
      await answers(route.method, pathOf(route, found), 428, { ...partsOf(route), from: careful });
    },
  );
});

describe("other documented statuses", () => {
  test("Every documented status occurs: edits of schedules", async () => {
    await answers("POST", "/v1/schedules", 201, { body: { key: "posted", ...schedule } });
    await answers("POST", "/v1/schedules", 409, { body: { key: "posted", ...schedule } });
    await answers("POST", "/v1/schedules", 422, { body: pulse });
    await answers("PUT", "/v1/schedules/posted", 200, { body: { ...schedule, when: "every 2d" } });
    await answers("PUT", "/v1/schedules/posted", 422, { body: pulse });
    await answers("PATCH", "/v1/schedules/posted", 200, { body: { tags: null } });
    await answers("PATCH", "/v1/schedules/posted", 422, { body: { delivery: "pulse", maxFires: 3 } });
    await answers("POST", "/v1/schedules/posted/pause", 200, { body: { reason: "walk" } });
    await api.sql`
      insert into carillon.holds (schedule_id, owner, since, scope, name, reach, team)
      select h.schedule_id, 'owner ' || n, h.since, h.scope, h.name, h.reach, h.team
      from carillon.holds h join carillon.schedules s on s.id = h.schedule_id, generate_series(2, 100) n where s.key = 'posted'`;
    await answers("POST", "/v1/schedules/posted/pause", 422, { body: { owner: "one more" } });
    await answers("POST", "/v1/schedules/posted/resume", 200);
    await answers("GET", "/v1/schedules/posted", 200);
    await answers("GET", "/v1/schedules", 200);
    await answers("GET", "/v1/schedules:count", 200);
    await answers("GET", "/v1/schedules/posted/versions", 200);
    await answers("POST", "/v1/schedules/posted/versions/1/restore", 200);
    await api.sql`
      update carillon.schedule_versions set target = '{"handler": "gone"}'
      where version = 2 and schedule_id = (select id from carillon.schedules where key = 'posted')`;
    await answers("POST", "/v1/schedules/posted/versions/2/restore", 422);
    await answers("DELETE", "/v1/schedules/posted", 204);
    await answers("POST", "/v1/schedules/posted/versions/1/restore", 200, { query: "dryRun=true" });
    await answers("POST", "/v1/schedules/posted/versions/1/restore", 201);
    await answers("DELETE", "/v1/schedules/posted", 204);
  });

  test("Every documented status occurs: times of schedules", async () => {
    await answers("GET", "/v1/schedules/walk/next", 200, { query: "n=3" });
    await answers("POST", "/v1/preview", 200, { body: { when: "0 9 * * *", n: 2 } });
    await answers("POST", "/v1/preview", 422, { body: { when: "0 9 * * *", delivery: "pulse" } });
    await answers("GET", "/v1/schedules/walk/explain", 200, { query: "at=2026-12-01T09:00:00Z" });
    await answers("GET", "/v1/zone-data", 200);
    await answers("GET", `/v1/zone-data/${process.versions["tz"]}/moves`, 200);
  });

  test("Every documented status occurs: fires and backfills", async () => {
    const body = { when: "every 1d", target: { handler: "greet" }, payload: { name: "Ann" } };
    await answers("PUT", "/v1/schedules/greeted", 201, { body });
    await answers("POST", "/v1/schedules/greeted/fire", 202);
    await answers("POST", "/v1/schedules/greeted/fire", 422, { body: { payload: { name: 1 } } });
    const past = { from: "2020-01-01T00:00:00Z", to: "2020-01-02T00:00:00Z" };
    await answers("POST", "/v1/schedules/greeted/backfill", 422, { body: past });
    const [span] = await api.sql<{ from: Date; to: Date }[]>`
      select created_at as "from", carillon.clock() - interval '1 ms' as "to" from carillon.schedules where key = 'greeted'`;
    await answers("POST", "/v1/schedules/greeted/backfill", 202, { body: span });
  });

  test("Every documented status occurs: jobs", async () => {
    const fired = await answers("POST", "/v1/schedules/walk/fire", 202);
    const path = `/v1/jobs/${idOf(fired)}`;
    await answers("GET", path, 200);
    await answers("GET", "/v1/jobs", 200, { query: "key=walk" });
    await answers("GET", "/v1/jobs", 422, { query: "key=walk&tag=x" });
    await answers("GET", "/v1/schedules/walk/jobs", 200);
    await answers("POST", `${path}/retry`, 409);
    await answers("POST", `${path}/cancel`, 200, { body: { reason: "walk" } });
    await answers("POST", `${path}/cancel`, 409);
    await answers("POST", `${path}/retry`, 202);
    await api.sql`
      update carillon.parcels set lease_until = carillon.clock() + interval '1 hour', claimed_at = carillon.clock(), fence = fence + 1`;
    await answers("POST", `${path}/cancel`, 202);
    await answers("POST", "/v1/jobs:retry", 202, { body: { filter: { key: "walk" } } });
    await answers("POST", "/v1/jobs:retry", 422, { body: { filter: { state: "cancelled" } } });
    await answers("POST", "/v1/jobs:cancel", 202, { body: { filter: { key: "no-such" } } });
    await answers("POST", "/v1/jobs:retry", 200, { body: { filter: { key: "walk" }, dryRun: true } });
    await answers("POST", "/v1/jobs:cancel", 200, { body: { filter: { key: "walk" }, dryRun: true } });
    await answers("GET", "/v1/jobs:groups", 200);
    await answers("GET", "/v1/jobs:count", 200);
    await answers("GET", "/v1/jobs:count", 422, { query: "key=walk&tag=x" });
    await answers("GET", "/v1/jobs:states", 200, { query: "entry=1" });
    await answers("GET", "/v1/jobs", 200, { query: "entry=1&state=dead" });
  });

  test("Every documented status occurs: groups and tags", async () => {
    const stale = `cursor=${await madeUpCursor(api, "holds", "999999")}`;
    await answers("GET", "/v1/groups", 200);
    for (const path of ["/v1/groups/walk", "/v1/tags/walk"]) {
      await answers("GET", path, 200);
      await answers("POST", `${path}/pause`, 200, { body: { reason: "walk" } });
      await answers("POST", `${path}/pause`, 409, { query: stale });
      await answers("GET", path, 200);
      await answers("POST", `${path}/resume`, 409, { query: stale });
      await answers("POST", `${path}/resume`, 200);
    }
    await answers("POST", "/v1/tags/walk/cancel", 200);
    await answers("POST", "/v1/groups/walk/cancel", 200);
  });

  test("Every documented status occurs: calendars", async () => {
    await answers("PUT", "/v1/calendars/walk", 200, { body: { dates: ["12-25"] } });
    await answers("GET", "/v1/calendars/walk", 200);
    await answers("GET", "/v1/calendars", 200);
    await answers("PUT", "/v1/schedules/by-calendar", 201, {
      body: { ...schedule, calendar: { name: "walk" } },
    });
    await answers("DELETE", "/v1/calendars/walk", 409);
    await answers("DELETE", "/v1/schedules/by-calendar", 204);
    await answers("DELETE", "/v1/calendars/walk", 204);
  });

  test("Every documented status occurs: limits", async () => {
    await answers("PUT", "/v1/limits/queue/demo", 200, { body: { concurrency: 3, rate: "10/s" } });
    await answers("GET", "/v1/limits/queue%2Fdemo", 200);
    await answers("GET", "/v1/limits", 200);
    await answers("DELETE", "/v1/limits/queue/demo", 204);
  });

  test("Every documented status occurs: batches", async () => {
    const operations = [{ put: { key: "batched", ...schedule } }, { delete: "no-such" }];
    await answers("POST", "/v1/schedules:batch", 200, { body: { operations } });
    await answers("POST", "/v1/schedules:batch", 422, { body: { operations, atomic: true } });
    const filter = { prefix: "batched" };
    await answers("POST", "/v1/schedules:pause", 200, { body: { filter } });
    await answers("POST", "/v1/schedules:resume", 200, { body: { filter, dryRun: true } });
    await answers("POST", "/v1/schedules:patch", 200, {
      body: { filter, patch: { payload: 1 }, dryRun: true },
    });
    const nowhere = { target: { handler: "no-such" } };
    await answers("POST", "/v1/schedules:patch", 422, { body: { filter, patch: nowhere } });
    await answers("POST", "/v1/schedules:delete", 200, { body: { filter } });
  });

  test("Every documented status occurs: enqueued jobs", async () => {
    const job = { key: "enqueued", at: "2030-01-01T00:00:00Z", target: { queue: "demo" } };
    await answers("POST", "/v1/jobs", 202, { body: job });
    await answers("POST", "/v1/jobs", 200, { body: { ...job, ifExists: "keep" } });
    await answers("POST", "/v1/jobs", 409, { body: { ...job, ifExists: "refuse" } });
    await answers("POST", "/v1/jobs", 422, { body: { target: { handler: "no-such" } } });
  });

  test("Every documented status occurs: tokens", async () => {
    const body = { name: "walker", scope: "read" };
    const made = idOf(await answers("POST", "/v1/tokens", 201, { body }));
    await answers("POST", "/v1/tokens", 409, { body });
    await answers("GET", "/v1/tokens", 200);
    await answers("GET", `/v1/tokens/${made}`, 200);
    await answers("POST", `/v1/tokens/${made}/rotate`, 200, { body: { overlap: "1h" } });
    await api.sql`update carillon.tokens set expires_at = carillon.clock() where id = ${made}`;
    await answers("POST", `/v1/tokens/${made}/rotate`, 409);
    await answers("DELETE", `/v1/tokens/${made}`, 204);
    const [last] = await api.sql<{ id: string }[]>`select id from carillon.tokens where name = 'adminer'`;
    await answers("DELETE", `/v1/tokens/${last?.id}`, 409);
  });

  test("Every documented status occurs: quotas", async () => {
    await answers("GET", "/v1/quotas", 200);
  });

  test("Every documented status occurs: keys of credentials", async () => {
    const keys = "/v1/credential-keys";
    await answers("GET", keys, 200);
    await answers("POST", keys, 201);
    await answers("POST", `${keys}/seal-again`, 200);
    for (const path of [keys, `${keys}/seal-again`])
      expect((await careful.send("POST", path)).status).toBe(422);
  });

  test("Every documented status occurs: moves", async () => {
    const to = "https://b.example.com";
    const put = await answers("PUT", "/v1/schedules/away:a", 201, { body: schedule });
    expect(put).toBeDefined();
    const path = `/v1/moves/${idOf(await answers("POST", "/v1/moves", 201, { body: { prefix: "away:", to } }))}`;
    await answers("POST", "/v1/moves", 409, { body: { prefix: "away:a", to } });
    await answers("GET", "/v1/moves", 200);
    await answers("GET", path, 200);
    await answers("DELETE", path, 409);
    const step = (body: object, status = 200) => answers("POST", `${path}/steps`, status, { body });
    const { ids: schedules } = (await step({ step: "freeze", after: "", limit: 10 })) as { ids: string[] };
    await step({ step: "take", schedules });
    const { parts } = (await step({ step: "parts" })) as { parts: { id: string; part: number }[] };
    await api.sql`
      update carillon.moved_schedules set doc = jsonb_set(doc, '{schedule,versions,0,spec,target}', '{"handler": "gone"}')`;
    await step({ step: "take-back", schedule: schedules[0] }, 422);
    await step({ step: "confirm", parts: parts.map(({ id, part }) => ({ id, part })) });
    await step({ step: "close" });
    await step({ step: "end", abandon: true });
    await step({ step: "take", schedules }, 409);
    const arrival = `/v1/arrivals/${randomUUID()}`;
    const begin = { prefix: "away:", from: to };
    await answers("PUT", arrival, 200, { body: begin });
    await answers("PUT", `/v1/arrivals/${randomUUID()}`, 409, { body: begin });
    await answers("GET", arrival, 200);
    const arrive = (body: object) => answers("POST", `${arrival}/steps`, 200, { body });
    expect(await arrive({ step: "bring", parts })).toMatchObject({ brought: [{ became: "arrived" }] });
    await arrive({ step: "refuse", schedule: "999" });
    await arrive({ step: "end" });
    await answers("POST", `/v1/arrivals/${randomUUID()}/steps`, 404, { body: { step: "end" } });
    await answers("DELETE", path, 204);
  });

  test("Every documented status occurs: commands", async () => {
    await answers("POST", "/v1/inbox:apply", 200);
    await answers("GET", "/v1/inbox/errors", 200);
    const [refused] = await api.sql<{ id: string }[]>`
      insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
      values (1, carillon.clock(), carillon.clock(), 'shop', 'walk', '{"delete": {"key": "walk"}}', 'No.', '[]') returning id`;
    await answers("GET", `/v1/inbox/errors/${refused?.id}`, 200);
    await answers("DELETE", `/v1/inbox/errors/${refused?.id}`, 204);
    await answers("GET", "/v1/commands/dead", 200);
    const put = { key: "commanded", ...schedule };
    const job = { key: "commanded", target: put.target };
    const ids = await deadCommands([{ put }, { put: { ...put, ...pulse } }, { put, ifMatch: 999 }, { job }]);
    const [fine, impossible, outdated, taken] = ids.map((id) => `/v1/commands/dead/${id}`);
    await answers("GET", `${fine}`, 200);
    await answers("POST", `${fine}/retry`, 200);
    await answers("POST", `${impossible}/retry`, 422);
    await answers("POST", `${outdated}/retry`, 412);
    await answers("POST", `${taken}/retry`, 409);
    await answers("DELETE", `${outdated}`, 204);
  });

  test("Every documented status occurs: audit, statistics and quarantine", async () => {
    await answers("GET", "/v1/problems", 200);
    await answers("GET", "/v1/stats", 200);
    await answers("GET", "/v1/series", 200);
    await answers("GET", "/v1/forecast", 200);
    await answers("GET", "/v1/forecast", 422, { query: "from=2100-01-01T00:00:00Z" });
    await answers("GET", "/v1/holds", 200);
    await answers("GET", "/v1/token", 200);
    await answers("POST", "/v1/calendars/walked/preview", 200, { body: { weekly: ["sun"] } });
    await setAside(api.sql, "ended", [{ item: "7", error: new Error("no") }]);
    await answers("GET", "/v1/quarantine", 200);
    await answers("POST", "/v1/quarantine:retry", 202, { body: { filter: { consumer: "ended" } } });
    await answers("GET", "/v1/audit", 200);
    await answers("GET", "/v1/outages", 200);
  });

  test("Every documented status occurs: occurrences", async () => {
    const query = "from=2030-01-01T00:00:00Z&to=2030-01-02T00:00:00Z";
    await answers("GET", "/v1/occurrences", 200, { query });
    await answers("GET", "/v1/occurrences:count", 200, { query });
    await answers("GET", "/v1/occurrences:schedules", 200, { query: `${query}&outcome=planned` });
    await answers("GET", "/v1/schedules/walk/occurrences", 200);
    await answers("POST", "/v1/occurrences:last", 200, { body: { keys: ["walk"] } });
    await api.sql`
      insert into carillon.cadences (expression, timezone)
      select 'every 1 day from 2030-01-01T00:00:00.' || lpad(n::text, 3, '0') || m, 'UTC'
      from generate_series(0, 999) n, generate_series(0, 20) m`;
    await answers("GET", "/v1/occurrences", 422, { query });
    await answers("GET", "/v1/occurrences:count", 422, { query });
    await answers("GET", "/v1/occurrences:schedules", 422, { query: `${query}&outcome=planned` });
    await answers("GET", "/v1/occurrences", 200, { query: `${query}&prefix=walk` });
    await api.sql`delete from carillon.cadences where timezone = 'UTC' and expression like 'every 1 day from 2030-01-01T00:00:00.%'`;
  });

  test("Every documented status occurs: health and the document itself", async () => {
    await answers("GET", "/health", 200, { as: "" });
    await answers("GET", "/v1/openapi.json", 200, { as: "read" });
  });
});

test("Every documented status of a route has occurred", () => {
  const documented = routes.flatMap(({ method, path, scope, doc }) => {
    const of = [
      ...Object.keys(doc.answers ?? {}),
      ...(doc.problems ?? []),
      ...(doc.body === undefined ? [] : [413, 415]),
      ...(scope === "read" ? [] : [403]),
      400,
      401,
    ];
    return of.map((status) => `${method} ${path.replace("+}", "}")} ${status}`);
  });
  expect([...new Set(documented)].filter((each) => !api.seen.has(each) && !careful.seen.has(each))).toEqual(
    [],
  );
});

async function deadCommands(commands: readonly object[]): Promise<string[]> {
  const at = api.clock.now().toISOString();
  const whole = commands.map((command, index) => ({ id: `walk-${index}`, at, ...command }));
  const rows = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, refused_at, refusal, command)
    select 'walk', n, carillon.clock(), '{"kind": "invalid", "message": "No.", "faults": []}', command
    from jsonb_array_elements(${JSON.stringify(whole)}::text::jsonb) with ordinality c (command, n) order by n
    returning id`;
  return rows.map(({ id }) => id);
}

function idOf(job: unknown): string {
  if (typeof job === "object" && job !== null && "id" in job) return String(job.id);
  throw new Error("There is no id in the answer.");
}
