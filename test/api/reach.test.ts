import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimParcel } from "../../lib/parcel/claim.ts";
import { settleParcel } from "../../lib/parcel/settle.ts";
import { type ApiAnswer, type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let ours: Team;
let theirs: Team;

/**
 * The resources of a team. Both teams have the same kinds, and share the names of a group and a
 * tag.
 */
interface Team {
  prefix: string;
  secret: string;
  tokenId: string;
  /** The ids of a dead job and of a waiting one. */
  dead: string;
  waiting: string;
  /** The id of a refused command. */
  command: string;
  inboxError: string;
}

beforeAll(async () => {
  api = await ownApi();
  await api.tick();
  await api.send("PUT", "/v1/calendars/days", { body: { weekly: ["sun"] } });
  ours = await team("ours:");
  theirs = await team("theirs:");
});

afterAll(() => api.stop());

const by = (secret: string, parts: SendParts = {}): SendParts => ({
  ...parts,
  headers: { ...parts.headers, authorization: `Bearer ${secret}` },
});
const asOurs = (method: string, path: string, parts: SendParts = {}) =>
  api.send(method, path, by(ours.secret, parts));

const many = (verb: string, body: object = {}): [string, SendParts] => [
  `/v1/schedules:${verb}`,
  { body: { filter: { prefix: "theirs:" }, ...body } },
];

const body = { when: "every 1d", target: { queue: "demo" }, group: "shared", tags: ["shared"] };

async function team(prefix: string): Promise<Team> {
  const made = await api.send("POST", "/v1/tokens", {
    body: { name: `${prefix}admin`, scope: "admin", prefix },
  });
  const { token: secret, id: tokenId } = made.json as { token: string; id: string };
  const put = await api.send("PUT", `/v1/schedules/${prefix}a`, by(secret, { body }));
  expect(put.status).toBe(201);
  const dead = await fired(prefix, secret);
  const [row] = await api.sql<{ id: string }[]>`
    select p.id from carillon.parcels p join carillon.schedules s on s.id = any(p.schedule_ids) where s.key = ${`${prefix}a`}`;
  const parcel = await claimParcel(api.sql, row?.id ?? "0", 30_000);
  if (parcel.outcome !== "claimed") throw new Error(`The parcel is ${parcel.outcome}.`);
  await settleParcel(api.sql, parcel, [
    { kind: "dead", error: "Error: no", errorClass: "Error", stack: "Error: no" },
  ]);
  const [command] = await api.sql<{ id: string }[]>`
    insert into carillon.dead_commands (message_id, place, key, refused_at, refusal, command)
    values (${prefix}, 0, ${`${prefix}a`}, carillon.clock(), '{"kind":"invalid","message":"no","faults":[]}', '{}') returning id`;
  const [inboxError] = await api.sql<{ id: string }[]>`
    insert into carillon.inbox_refusals (id, at, refused_at, caller, key, command, problem, faults)
    select count(*) + 1, carillon.clock(), carillon.clock(), 'shop', ${`${prefix}a`}, '{}', 'No.', '[]' from carillon.inbox_refusals returning id`;
  await api.sql`
    insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
    select 'ended', ${prefix}, id, 'no', carillon.clock(), carillon.clock(), 1, carillon.clock() + interval '1 day' from carillon.schedules where key = ${`${prefix}a`}`;
  return {
    prefix,
    secret,
    tokenId,
    dead,
    waiting: await fired(prefix, secret),
    command: command?.id ?? "",
    inboxError: inboxError?.id ?? "",
  };
}

async function fired(prefix: string, secret: string): Promise<string> {
  const { json } = await api.send("POST", `/v1/schedules/${prefix}a/fire`, by(secret));
  return (json as { id: string }).id;
}

/** All rows of a team. */
async function standing(prefix: string) {
  const [row] = await api.sql`
    with own as (select * from carillon.schedules where starts_with(key, ${prefix}))
    select
      (select json_agg(json_build_array(key, version, held_since, deleted_at) order by id) from own) as schedules,
      (select json_agg(json_build_array(j.n, j.state, j.cancel_asked, j.attempt) order by j.occurrence, j.n)
        from carillon.jobs j join own on own.id = j.schedule_id) as jobs,
      (select json_agg(h) from carillon.holds h join own on own.id = h.schedule_id) as holds,
      (select json_agg(h) from carillon.shared_holds h where h.prefix = ${prefix}) as shared,
      (select json_agg(json_build_array(t.id, t.hash, t.name)) from carillon.tokens t where t.prefix = ${prefix}) as tokens,
      (select json_agg(c order by c.id) from carillon.dead_commands c where starts_with(c.key, ${prefix})) as commands,
      (select json_agg(q) from carillon.quarantine q where q.item = ${prefix}) as quarantine,
      (select json_agg(a.id order by a.id) from carillon.audit a where starts_with(a.subject, ${prefix})) as audit`;
  return row;
}

interface Attempt {
  path: string;
  parts?: SendParts;
}

interface RouteCase {
  /** Requests that name or could return resources of the other team. */
  attempts: () => Attempt[];
  /**
   * The expected answer; `shows` is a list or a bulk operation that reaches the team's own
   * resources only.
   */
  is: "refused" | "missing" | "shows";
}

const foreign = "theirs:a";
const refused = (...attempts: (string | [string, SendParts])[]): RouteCase => ({
  is: "refused",
  attempts: () =>
    attempts.map((each) => (typeof each === "string" ? { path: each } : { path: each[0], parts: each[1] })),
});
/** An existing key and an unknown one are refused alike. */
const byKey = (suffix: string, parts: SendParts = {}): RouteCase =>
  refused([`/v1/schedules/${foreign}${suffix}`, parts], [`/v1/schedules/theirs:nothing${suffix}`, parts]);
const shows = (...attempts: (string | [string, SendParts])[]): RouteCase => ({
  ...refused(...attempts),
  is: "shows",
});
const missingJob = (suffix: string): RouteCase => ({
  is: "missing",
  attempts: () => [theirs.dead, theirs.waiting, "7-1-c0"].map((id) => ({ path: `/v1/jobs/${id}${suffix}` })),
});
const missingToken = (suffix: string): RouteCase => ({
  is: "missing",
  attempts: () => [{ path: `/v1/tokens/${theirs.tokenId}${suffix}` }],
});
const missingCommand = (suffix: string): RouteCase => ({
  is: "missing",
  attempts: () => [theirs.command, "999999"].map((id) => ({ path: `/v1/commands/dead/${id}${suffix}` })),
});
const missingInboxError: RouteCase = {
  is: "missing",
  attempts: () => [theirs.inboxError, "999999"].map((id) => ({ path: `/v1/inbox/errors/${id}` })),
};
const label = (scope: string): Record<string, RouteCase> => ({
  [`GET /v1/${scope}s/{name}`]: shows(`/v1/${scope}s/shared`),
  [`POST /v1/${scope}s/{name}/pause`]: shows([`/v1/${scope}s/shared/pause`, { body: { reason: "ours" } }]),
  [`POST /v1/${scope}s/{name}/resume`]: shows(`/v1/${scope}s/shared/resume`, [
    `/v1/${scope}s/shared/resume`,
    { body: { owner: "night" } },
  ]),
  [`POST /v1/${scope}s/{name}/cancel`]: shows(`/v1/${scope}s/elsewhere/cancel`),
});

/** Before and after the start of the tests. */
const around = "from=2026-03-01T00:00:00Z&to=2026-03-30T00:00:00Z";

const noMove = "0199f3c2-6f0e-7cc1-9d0f-6a8f5e1b2c3d";

/** Every route; a test below fails where one is missing. */
const cases: Record<string, RouteCase> = {
  "GET /health": shows("/health"),
  "GET /v1/openapi.json": shows("/v1/openapi.json"),
  "POST /v1/schedules": refused(["/v1/schedules", { body: { ...body, key: "theirs:new" } }]),
  "GET /v1/schedules": shows(
    "/v1/schedules",
    ["/v1/schedules", { query: "prefix=theirs" }],
    ["/v1/schedules", { query: "group=shared" }],
    ["/v1/schedules", { query: "tag=shared" }],
    ["/v1/schedules", { query: "target=queue" }],
    ["/v1/schedules", { query: "createdBy=theirs:admin" }],
    ["/v1/schedules", { query: "failing=true" }],
    ["/v1/schedules", { query: "nextFrom=2026-01-01T00:00:00Z" }],
  ),
  "GET /v1/schedules:count": shows(
    "/v1/schedules:count",
    ["/v1/schedules:count", { query: "prefix=theirs:" }],
    ["/v1/schedules:count", { query: "group=shared" }],
  ),
  "PUT /v1/schedules/{key}": byKey("", { body }),
  "PATCH /v1/schedules/{key}": byKey("", { body: { tags: [] } }),
  "DELETE /v1/schedules/{key}": byKey(""),
  "GET /v1/schedules/{key}": byKey(""),
  "POST /v1/schedules/{key}/pause": byKey("/pause"),
  "POST /v1/schedules/{key}/resume": byKey("/resume"),
  "GET /v1/schedules/{key}/next": byKey("/next"),
  "GET /v1/schedules/{key}/explain": byKey("/explain", { query: "at=2026-01-01T00:00:00Z" }),
  "GET /v1/schedules/{key}/versions": byKey("/versions"),
  "POST /v1/schedules/{key}/versions/{n}/restore": byKey("/versions/1/restore"),
  "POST /v1/schedules/{key}/fire": byKey("/fire"),
  "POST /v1/schedules/{key}/backfill": byKey("/backfill", {
    body: { from: "2026-01-01T00:00:00Z", to: "2026-01-02T00:00:00Z" },
  }),
  "GET /v1/schedules/{key}/jobs": byKey("/jobs"),
  "POST /v1/schedules:batch": shows([
    "/v1/schedules:batch",
    {
      body: {
        operations: [
          { put: { ...body, key: foreign } },
          { patch: { key: foreign, tags: [] } },
          { delete: foreign },
          { pause: foreign },
          { resume: { key: foreign, owner: "theirs:admin" } },
          { job: { key: "theirs:job", target: { queue: "demo" } } },
        ],
      },
    },
  ]),
  "POST /v1/preview": shows(["/v1/preview", { body: { key: foreign, when: "H * * * *" } }]),
  "POST /v1/jobs": refused(["/v1/jobs", { body: { key: "theirs:job", target: { queue: "demo" } } }]),
  "GET /v1/jobs": shows(
    ["/v1/jobs", { query: "state=dead" }],
    ["/v1/jobs", { query: "state=dead&prefix=theirs:" }],
    ["/v1/jobs", { query: "state=dead&group=shared" }],
    ["/v1/jobs", { query: "state=dead&tag=shared" }],
    ["/v1/jobs", { query: "state=dead&target=queue" }],
  ),
  "GET /v1/jobs:count": shows(
    "/v1/jobs:count",
    ["/v1/jobs:count", { query: "state=dead" }],
    ["/v1/jobs:count", { query: "state=dead&prefix=theirs:" }],
    ["/v1/jobs:count", { query: "group=shared" }],
    ["/v1/jobs:count", { query: "entry=1,2,3" }],
  ),
  "GET /v1/jobs:groups": shows(
    "/v1/jobs:groups",
    ["/v1/jobs:groups", { query: "prefix=theirs:" }],
    ["/v1/jobs:groups", { query: "group=shared&by=target" }],
    ["/v1/jobs:groups", { query: "state=retrying" }],
  ),
  "GET /v1/jobs:states": shows(["/v1/jobs:states", { query: "entry=1,2,3,4,5" }]),
  "GET /v1/jobs/{id}": missingJob(""),
  "POST /v1/jobs/{id}/cancel": missingJob("/cancel"),
  "POST /v1/jobs/{id}/retry": missingJob("/retry"),
  "POST /v1/jobs:retry": refused(
    ["/v1/jobs:retry", { body: { filter: { key: foreign } } }],
    ["/v1/jobs:retry", { body: { filter: { key: foreign, state: "cancelled" } } }],
    ["/v1/jobs:retry", { body: { filter: { prefix: "theirs:" } } }],
  ),
  "POST /v1/jobs:cancel": refused(
    ["/v1/jobs:cancel", { body: { filter: { key: foreign } } }],
    ["/v1/jobs:cancel", { body: { filter: { prefix: "theirs:" } } }],
  ),
  "POST /v1/schedules:pause": refused(many("pause")),
  "POST /v1/schedules:resume": refused(many("resume")),
  "POST /v1/schedules:delete": refused(many("delete")),
  "POST /v1/schedules:patch": refused(many("patch", { patch: { tags: [] } })),
  "PUT /v1/calendars/{name}": refused(["/v1/calendars/days", { body: { weekly: ["sat"] } }]),
  "POST /v1/calendars/{name}/preview": refused(["/v1/calendars/days/preview", { body: { weekly: ["sat"] } }]),
  "DELETE /v1/calendars/{name}": refused("/v1/calendars/days"),
  "GET /v1/calendars/{name}": shows("/v1/calendars/days"),
  "GET /v1/calendars": shows("/v1/calendars"),
  "GET /v1/groups": shows("/v1/groups", ["/v1/groups", { query: "prefix=theirs" }]),
  ...label("group"),
  ...label("tag"),
  "GET /v1/limits": refused("/v1/limits"),
  "GET /v1/limits/{target}": refused("/v1/limits/queue/demo"),
  "PUT /v1/limits/{target}": refused(["/v1/limits/queue/demo", { body: { concurrency: 1 } }]),
  "DELETE /v1/limits/{target}": refused("/v1/limits/queue/demo"),
  "GET /v1/quotas": shows("/v1/quotas"),
  "GET /v1/credential-keys": refused("/v1/credential-keys"),
  "POST /v1/credential-keys": refused("/v1/credential-keys"),
  "POST /v1/credential-keys/seal-again": refused("/v1/credential-keys/seal-again"),
  "POST /v1/moves": refused(["/v1/moves", { body: { prefix: "theirs:", to: "https://b.example.com" } }]),
  "GET /v1/moves": refused("/v1/moves"),
  "GET /v1/moves/{id}": refused(`/v1/moves/${noMove}`),
  "DELETE /v1/moves/{id}": refused(`/v1/moves/${noMove}`),
  "POST /v1/moves/{id}/steps": refused([`/v1/moves/${noMove}/steps`, { body: { step: "close" } }]),
  "PUT /v1/arrivals/{id}": refused([
    `/v1/arrivals/${noMove}`,
    { body: { prefix: "theirs:", from: "https://b.example.com" } },
  ]),
  "GET /v1/arrivals/{id}": refused(`/v1/arrivals/${noMove}`),
  "POST /v1/arrivals/{id}/steps": refused([`/v1/arrivals/${noMove}/steps`, { body: { step: "end" } }]),
  "GET /v1/zone-data": shows("/v1/zone-data"),
  "GET /v1/zone-data/{version}/moves": refused("/v1/zone-data/2026a/moves"),
  "GET /v1/occurrences": shows(
    ["/v1/occurrences", { query: around }],
    ["/v1/occurrences", { query: `${around}&group=shared` }],
    ["/v1/occurrences", { query: `${around}&tag=shared` }],
    ["/v1/occurrences", { query: `${around}&target=queue` }],
    ["/v1/occurrences", { query: `${around}&rule=every-86400000` }],
  ),
  "GET /v1/occurrences:count": shows(
    ["/v1/occurrences:count", { query: around }],
    ["/v1/occurrences:count", { query: `${around}&rule=every-86400000` }],
  ),
  "GET /v1/occurrences:schedules": shows(
    ["/v1/occurrences:schedules", { query: `${around}&outcome=planned` }],
    ["/v1/occurrences:schedules", { query: `${around}&outcome=held&group=shared` }],
  ),
  "POST /v1/occurrences:last": refused(["/v1/occurrences:last", { body: { keys: [foreign] } }]),
  "GET /v1/schedules/{key}/occurrences": byKey("/occurrences"),
  "GET /v1/problems": shows("/v1/problems"),
  "GET /v1/forecast": shows("/v1/forecast", ["/v1/forecast", { query: "by=key&minutes=1440" }]),
  "GET /v1/holds": shows(
    "/v1/holds",
    ["/v1/holds", { query: "prefix=theirs:" }],
    ["/v1/holds", { query: "ended=true" }],
  ),
  "GET /v1/token": shows("/v1/token"),
  "GET /v1/outages": shows("/v1/outages"),
  "GET /v1/stats": shows("/v1/stats"),
  "GET /v1/series": shows(
    "/v1/series",
    ["/v1/series", { query: "group=shared" }],
    ["/v1/series", { query: "tag=shared" }],
    ["/v1/series", { query: "target=queue" }],
  ),
  "GET /v1/tokens": shows("/v1/tokens"),
  "POST /v1/tokens": refused(["/v1/tokens", { body: { name: "spy", scope: "read", prefix: "theirs:" } }]),
  "GET /v1/tokens/{id}": missingToken(""),
  "DELETE /v1/tokens/{id}": missingToken(""),
  "POST /v1/tokens/{id}/rotate": missingToken("/rotate"),
  "GET /v1/commands/dead": shows("/v1/commands/dead", ["/v1/commands/dead", { query: "prefix=theirs:" }]),
  "GET /v1/commands/dead/{id}": missingCommand(""),
  "POST /v1/commands/dead/{id}/retry": missingCommand("/retry"),
  "DELETE /v1/commands/dead/{id}": missingCommand(""),
  "GET /v1/audit": shows(
    "/v1/audit",
    ["/v1/audit", { query: "prefix=theirs:" }],
    ["/v1/audit", { query: "subject=theirs:a" }],
    ["/v1/audit", { query: "subject=shared" }],
    ["/v1/audit", { query: "action=token.created" }],
    ["/v1/audit", { query: "actor=theirs:admin" }],
  ),
  "POST /v1/inbox:apply": refused("/v1/inbox:apply"),
  "GET /v1/inbox/errors": shows("/v1/inbox/errors", ["/v1/inbox/errors", { query: "prefix=theirs:" }]),
  "GET /v1/inbox/errors/{id}": missingInboxError,
  "DELETE /v1/inbox/errors/{id}": missingInboxError,
  "GET /v1/quarantine": shows(
    "/v1/quarantine",
    ["/v1/quarantine", { query: "prefix=theirs:" }],
    ["/v1/quarantine", { query: "item=theirs" }],
  ),
  "POST /v1/quarantine:retry": shows("/v1/quarantine:retry", [
    "/v1/quarantine:retry",
    { body: { filter: { item: "theirs:" } } },
  ]),
};

/** An answer may repeat the caller's own input, but no other data of the other team. */
function saysNothingOfTheirs({ body: text }: ApiAnswer, { path, parts = {} }: Attempt) {
  const named = JSON.stringify([path, parts]).includes("theirs");
  expect(named ? "" : text).not.toContain("theirs");
  for (const secret of [theirs.dead, theirs.waiting, theirs.tokenId])
    if (!path.includes(secret)) expect(text).not.toContain(secret);
}

describe("a token with a prefix", () => {
  test("Every route has a case here, and every case has a route", async () => {
    const { json } = await api.send("GET", "/v1/openapi.json");
    const { paths } = json as { paths: Record<string, object> };
    const routes = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.toSorted()).toEqual(Object.keys(cases).toSorted());
  });

  test.each(Object.entries(cases))(
    "A token with a prefix reaches nothing beyond it: %s",
    async (route, { is, attempts }) => {
      const before = await standing("theirs:");
      const answers: string[] = [];
      for (const attempt of attempts()) {
        const answer = await asOurs(route.split(" ")[0] ?? "", attempt.path, attempt.parts);
        expect(answer.status).toBeLessThan(500);
        if (is === "shows") expect(answer.status).toBeLessThan(300);
        else expect(answer.status).toBe(is === "refused" ? 403 : 404);
        saysNothingOfTheirs(answer, attempt);
        answers.push(answer.body.replaceAll(/[\w:-]*(theirs:\w+|\d+-\d+-\w+)|\\"\d+\\"/g, "…"));
      }
      // The answer must not depend on whether the resource exists.
      if (is !== "shows" && !route.includes("jobs:")) expect(new Set(answers).size).toBe(1);
      expect(await standing("theirs:")).toEqual(before);
    },
  );

  test.each(["occurrences", "occurrences:count", "stats", "series", "forecast"])(
    "A prefix beyond that of the token is refused where nothing would look like an answer: %s",
    async (name) => {
      const query = `${name.startsWith("occ") ? `${around}&` : ""}prefix=theirs:`;
      const { status, json } = await asOurs("GET", `/v1/${name}`, { query });
      expect({ status, json }).toMatchObject({
        status: 403,
        json: { detail: 'Your token reaches keys that begin with "ours:".' },
      });
    },
  );

  test("In a batch, each operation on a key beyond the token's prefix is refused", async () => {
    const [batch] = cases["POST /v1/schedules:batch"]?.attempts() ?? [];
    const { json } = await asOurs("POST", "/v1/schedules:batch", batch?.parts);
    const { results } = json as { results: { status: number }[] };
    expect(results.map(({ status }) => status)).toEqual([
      403,
      403,
      403,
      403,
      403,
      expect.toBeOneOf([400, 403]),
    ]);
  });
});

describe("a team's own resources", () => {
  test("A token with a prefix reaches its own resources like any token", async () => {
    expect((await asOurs("GET", "/v1/schedules/ours:a")).status).toBe(200);
    expect((await asOurs("GET", `/v1/jobs/${ours.dead}`)).status).toBe(200);
    const { json } = await asOurs("GET", "/v1/jobs", { query: "state=dead" });
    expect((json as { items: { id: string }[] }).items.map(({ id }) => id)).toEqual([ours.dead]);
  });

  test("Keys that Carillon makes begin with the token's prefix", async () => {
    const schedule = await asOurs("POST", "/v1/schedules", { body: { ...body, when: "every 2d" } });
    expect(schedule.json).toMatchObject({ key: expect.stringMatching(/^ours:[0-9a-f-]{36}$/) });
    const job = await asOurs("POST", "/v1/jobs", { body: { target: { queue: "demo" } } });
    expect(job.json).toMatchObject({ key: expect.stringMatching(/^ours:/) });
  });

  test("A bulk retry or cancel reaches the team's own jobs only", async () => {
    const before = await standing("theirs:");
    const retry = await asOurs("POST", "/v1/jobs:retry", { body: { filter: { group: "shared" } } });
    expect(retry.json).toMatchObject({ done: 1 });
    const cancel = await asOurs("POST", "/v1/jobs:cancel", { body: { filter: { tag: "shared" } } });
    expect((cancel.json as { done: number }).done).toBeGreaterThan(0);
    expect(await standing("theirs:")).toEqual(before);
  });
});

describe.each(["group", "tag"])("a %s with members of several teams", (scope) => {
  const name = `split-${scope}`;
  const path = `/v1/${scope}s/${name}`;
  const member = (key: string, secret: string) =>
    api.send(
      "PUT",
      `/v1/schedules/${key}`,
      by(secret, {
        body: { ...body, group: null, tags: [], ...(scope === "group" ? { group: name } : { tags: [name] }) },
      }),
    );
  const stateOf = async (key: string) =>
    ((await api.send("GET", `/v1/schedules/${key}`)).json as { state: string }).state;
  const resume = (secret: string, parts: SendParts = {}) =>
    api.send("POST", `${path}/resume`, by(secret, parts));

  test("A team's hold covers the team's own members only, also later ones", async () => {
    await member(`ours:${scope}-1`, ours.secret);
    await member(`theirs:${scope}-1`, theirs.secret);
    const paused = await asOurs("POST", `${path}/pause`, { body: { reason: "stocktaking" } });
    expect(paused.json).toMatchObject({
      done: 1,
      hold: { owner: "ours:admin", prefix: "ours:", members: 1 },
    });
    await member(`ours:${scope}-2`, ours.secret);
    await member(`theirs:${scope}-2`, theirs.secret);
    const states = ["ours:", "theirs:"].flatMap((team) => [1, 2].map((n) => stateOf(`${team}${scope}-${n}`)));
    expect(await Promise.all(states)).toEqual(["paused", "paused", "active", "active"]);
    expect((await api.send("GET", path, by(theirs.secret))).json).toMatchObject({
      holds: [],
      schedules: [{ key: `theirs:${scope}-1` }, { key: `theirs:${scope}-2` }],
    });
    expect((await asOurs("GET", path)).json).toMatchObject({
      holds: [{ owner: "ours:admin" }],
      schedules: [{ key: `ours:${scope}-1` }, { key: `ours:${scope}-2` }],
    });
  });

  test("A team cannot release another team's hold, even by the name of that hold's owner", async () => {
    expect((await resume(theirs.secret)).json).toEqual({ done: 0, hold: null });
    expect((await resume(theirs.secret, { body: { owner: "ours:admin" } })).json).toEqual({
      done: 0,
      hold: null,
    });
    expect(await stateOf(`ours:${scope}-1`)).toBe("paused");
  });

  test("Each team may have a hold of the same owner name", async () => {
    const owner = { body: { owner: "night" } };
    await api.send("POST", `${path}/pause`, by(ours.secret, owner));
    await api.send("POST", `${path}/pause`, by(theirs.secret, owner));
    expect(await stateOf(`theirs:${scope}-1`)).toBe("paused");
    expect((await resume(ours.secret, owner)).json).toMatchObject({ done: 2 });
    expect(await stateOf(`theirs:${scope}-1`)).toBe("paused");
    expect((await resume(theirs.secret, owner)).json).toMatchObject({ done: 2 });
    expect(await stateOf(`theirs:${scope}-1`)).toBe("active");
  });

  test("An owner that a team's admin names is answered alike, whether it is the name of a foreign token or not", async () => {
    const key = `ours:${scope}-1`;
    const asked = async (owner: string) => {
      const named = { body: { owner } };
      const operations = [{ pause: { key, owner } }, { resume: { key, owner } }];
      const answers = [
        await asOurs("POST", `${path}/pause`, named),
        await asOurs("POST", `${path}/resume`, named),
        await asOurs("POST", `/v1/schedules/${key}/pause`, named),
        await asOurs("POST", `/v1/schedules/${key}/resume`, named),
        await asOurs("POST", "/v1/schedules:batch", { body: { operations } }),
      ];
      // Each request names its owner, its time and the next version.
      return answers.map(({ status, body }) => ({
        status,
        body: body.replaceAll(owner, "OWNER").replaceAll(/\d{4}-\d\d-[\d:.T]+Z|"version":\d+/g, ""),
      }));
    };
    const unknown = await asked("unknown");
    expect(unknown.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
    for (const owner of ["adminer", "theirs:admin"]) expect(await asked(owner)).toEqual(unknown);
  });

  test("A hold for all keys replaces the same owner's hold for some of them", async () => {
    const owner = { owner: "dusk" };
    await asOurs("POST", `${path}/pause`, { body: { ...owner, reason: "ours" } });
    const all = await api.send("POST", `${path}/pause`, { body: { ...owner, reason: "all" } });
    expect(all.json).toMatchObject({ done: 4, hold: { owner: "dusk", prefix: null, reason: "all" } });
    expect((await asOurs("GET", path)).json).toMatchObject({
      holds: [{ owner: "ours:admin" }, { owner: "dusk", prefix: null, reason: "all" }],
    });
    // The wider hold already covers the team, so the team has no hold of its own to set or release.
    expect((await asOurs("POST", `${path}/pause`, { body: owner })).status).toBe(409);
    expect((await resume(ours.secret, { body: owner })).status).toBe(403);
    const audit = await asOurs("GET", "/v1/audit", {
      query: `subject=${name}&action=${scope}.paused&limit=1`,
    });
    expect(audit.json).toMatchObject({
      items: [{ actor: "adminer", detail: { ...owner, reason: "all", before: { reason: "ours" } } }],
    });
    expect((await api.send("POST", `${path}/resume`, { body: owner })).json).toMatchObject({
      done: 4,
      hold: null,
    });
    expect(await stateOf(`theirs:${scope}-1`)).toBe("active");
    expect(await stateOf(`ours:${scope}-1`)).toBe("paused");
  });

  test("A hold for all keys by another owner exists beside the team's own hold", async () => {
    expect((await api.send("POST", `${path}/pause`, { body: { reason: "all" } })).json).toMatchObject({
      hold: { prefix: null, members: 4 },
    });
    expect((await asOurs("GET", path)).json).toMatchObject({
      holds: [{ owner: "ours:admin" }, { owner: "adminer", prefix: null }],
    });
    // A team cannot release a hold for all keys.
    expect((await resume(ours.secret, { body: { owner: "adminer" } })).status).toBe(403);
    expect((await api.send("POST", `${path}/resume`)).json).toMatchObject({ done: 4, hold: null });
  });

  test("An admin without a prefix releases a team's hold", async () => {
    expect(await stateOf(`ours:${scope}-1`)).toBe("paused");
    expect((await api.send("POST", `${path}/resume`, { body: { owner: "ours:admin" } })).json).toMatchObject({
      done: 2,
      hold: null,
    });
    expect(await stateOf(`ours:${scope}-1`)).toBe("active");
  });

  test("A team's cancel covers its own members only", async () => {
    expect((await asOurs("POST", `${path}/cancel`)).json).toMatchObject({ done: 2 });
    expect((await asOurs("GET", path)).status).toBe(404);
    expect((await api.send("GET", path)).json).toMatchObject({
      schedules: [{ key: `theirs:${scope}-1` }, { key: `theirs:${scope}-2` }],
    });
  });
});
