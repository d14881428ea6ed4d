import { expect, test } from "vitest";
import { frontOf } from "../support/postgres-front.ts";
import { messageReader } from "../support/postgres-messages.ts";
import { routes } from "./contract.ts";
import { type OwnApi, ownApi } from "./own-api.ts";
import { type Named, requestOf } from "./statement-requests.ts";

/**
 * The most statements of a request, `begin` and `commit` included, whether it concerns fifty
 * schedules or five hundred. Three more than were counted: a first request looks up more.
 */
const most: Readonly<Record<string, number>> = {
  "POST /v1/schedules:batch": 20,
  "POST /v1/schedules": 17,
  "PUT /v1/schedules/{key}": 17,
  "PATCH /v1/schedules/{key}": 25,
  "DELETE /v1/schedules/{key}": 23,
  "POST /v1/schedules/{key}/pause": 22,
  "POST /v1/schedules/{key}/resume": 26,
  "GET /v1/schedules": 9,
  "GET /v1/schedules:count": 7,
  "GET /v1/schedules/{key}": 10,
  "GET /v1/schedules/{key}/next": 6,
  "POST /v1/preview": 5,
  "GET /v1/schedules/{key}/explain": 23,
  "GET /v1/schedules/{key}/versions": 7,
  "POST /v1/schedules/{key}/versions/{n}/restore": 36,
  "POST /v1/schedules/{key}/fire": 14,
  "POST /v1/jobs": 20,
  "PUT /v1/calendars/{name}": 21,
  "POST /v1/calendars/{name}/preview": 22,
  "DELETE /v1/calendars/{name}": 12,
  "GET /v1/calendars": 5,
  "GET /v1/calendars/{name}": 7,
  "GET /v1/groups": 8,
  "GET /v1/groups/{name}": 14,
  "GET /v1/tags/{name}": 14,
  "GET /v1/holds": 8,
  "GET /v1/schedules/{key}/jobs": 10,
  "GET /v1/jobs": 24,
  "GET /v1/jobs/{id}": 6,
  "POST /v1/jobs/{id}/cancel": 12,
  "POST /v1/jobs/{id}/retry": 13,
  "GET /v1/jobs:count": 21,
  "GET /v1/jobs:states": 19,
  "GET /v1/jobs:groups": 10,
  "GET /v1/limits": 5,
  "GET /v1/limits/{target+}": 5,
  "PUT /v1/limits/{target+}": 15,
  "DELETE /v1/limits/{target+}": 15,
  "GET /v1/zone-data": 5,
  "GET /v1/zone-data/{version}/moves": 5,
  "GET /v1/problems": 40,
  "GET /v1/stats": 44,
  "GET /v1/forecast": 16,
  "GET /v1/series": 23,
  "GET /v1/occurrences": 33,
  "GET /v1/occurrences:count": 14,
  "GET /v1/occurrences:schedules": 25,
  "GET /v1/schedules/{key}/occurrences": 29,
  "POST /v1/occurrences:last": 10,
  "GET /v1/tokens": 5,
  "GET /v1/tokens/{id}": 5,
  "POST /v1/tokens": 12,
  "POST /v1/tokens/{id}/rotate": 14,
  "DELETE /v1/tokens/{id}": 13,
  "GET /v1/quotas": 10,
  "GET /v1/credential-keys": 5,
  "POST /v1/credential-keys": 9,
  "POST /v1/credential-keys/seal-again": 10,
  "POST /v1/moves": 13,
  "GET /v1/moves": 5,
  "GET /v1/moves/{id}": 6,
  "DELETE /v1/moves/{id}": 12,
  "PUT /v1/arrivals/{id}": 13,
  "GET /v1/arrivals/{id}": 6,
  "GET /v1/audit": 7,
  "POST /v1/inbox:apply": 77,
  "GET /v1/inbox/errors": 6,
  "GET /v1/inbox/errors/{id}": 5,
  "DELETE /v1/inbox/errors/{id}": 8,
  "GET /v1/commands/dead": 5,
  "GET /v1/commands/dead/{id}": 5,
  "POST /v1/commands/dead/{id}/retry": 24,
  "DELETE /v1/commands/dead/{id}": 8,
  "GET /v1/quarantine": 5,
  "POST /v1/quarantine:retry": 10,
  "GET /v1/outages": 5,
  "GET /v1/token": 5,
  "GET /v1/openapi.json": 4,
  "POST /v1/schedules/{key}/backfill": 14,
};

/** The requests that work in steps: their first statements, and those for each schedule. */
const inSteps: Readonly<Record<string, { first: number; each: number }>> = {
  "POST /v1/schedules:pause": { first: 35, each: 0.1 },
  "POST /v1/schedules:delete": { first: 35, each: 0.1 },
  "POST /v1/schedules:resume": { first: 60, each: 0.2 },
  "POST /v1/schedules:patch": { first: 60, each: 0.2 },
  "POST /v1/groups/{name}/pause": { first: 40, each: 0.1 },
  "POST /v1/tags/{name}/pause": { first: 40, each: 0.1 },
  "POST /v1/groups/{name}/resume": { first: 75, each: 0.12 },
  "POST /v1/tags/{name}/resume": { first: 75, each: 0.12 },
  "POST /v1/groups/{name}/cancel": { first: 100, each: 8 },
  "POST /v1/tags/{name}/cancel": { first: 100, each: 8 },
  "POST /v1/moves/{id}/steps": { first: 50, each: 0.15 },
  "POST /v1/arrivals/{id}/steps": { first: 55, each: 0.15 },
  "POST /v1/jobs:cancel": { first: 50, each: 0.02 },
  "POST /v1/jobs:retry": { first: 40, each: 0.02 },
};

const few: Named = { prefix: "few:", count: 50 };
const many: Named = { prefix: "many:", count: 500 };

/** The first makes the schedules. The last ones let time pass. */
const first = "POST /v1/schedules:batch";
const last = ["POST /v1/jobs:retry", "POST /v1/schedules/{key}/backfill"];

/** The one request that finds nothing: the database has had one release of zone data. */
const findsNothing = "GET /v1/zone-data/{version}/moves";

const allowed = (name: string, { count }: Named) => {
  const steps = inSteps[name];
  return steps === undefined ? (most[name] ?? 0) : steps.first + steps.each * count;
};

test("The statements of each operation do not grow with its schedules, or by the steps of bulk actions", async () => {
  let sent = 0;
  const count = messageReader("client", (type) => {
    // A simple query, or the execution of a prepared statement.
    if (type === "Q" || type === "E") sent += 1;
  });
  const api = await ownApi({}, "http", (url) => frontOf(url, () => ({ said: count })));
  const tooMany: string[] = [];
  const counted = async (name: string) => {
    for (const of of [few, many]) {
      const taken = await statementsOf(api, name, of, () => sent);
      if (taken < 1 || taken > allowed(name, of))
        tooMany.push(`${name} of ${of.count} took ${taken} statements, not ${allowed(name, of)}`);
    }
  };
  const names = routes.map(({ method, path }) => `${method} ${path}`);
  await counted(first);
  await api.tick();
  for (const name of names) if (name !== first && !last.includes(name)) await counted(name);
  for (const name of last) await counted(name);
  await api.stop();
  expect(tooMany).toEqual([]);
}, 240_000);

async function statementsOf(api: OwnApi, name: string, of: Named, sent: () => number): Promise<number> {
  const { path, parts } = await requestOf(name, of, api);
  const before = sent();
  const { status, body } = await api.send(name.split(" ")[0] ?? "", path, parts);
  if (name === findsNothing) expect(status).toBe(404);
  else expect(status, `${name}: ${body}`).toBeLessThan(300);
  return sent() - before;
}

test("Each route has its figure, and no other has one", () => {
  const figures = [...Object.keys(most), ...Object.keys(inSteps)];
  expect(figures.toSorted()).toEqual(routes.map(({ method, path }) => `${method} ${path}`).toSorted());
});
