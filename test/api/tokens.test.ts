import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isMiscopied, newSecret } from "../../lib/token/secret.ts";
import type { DatabaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { monday } from "../support/instants.ts";
import { type ApiAnswer, type OwnApi, ownApi, type SendParts } from "./own-api.ts";

let api: OwnApi;
let clock: DatabaseClock;

const begin = new Date(monday);
const at = (hours: number) => new Date(begin.getTime() + hours * 3_600_000).toISOString();

beforeAll(async () => {
  api = await ownApi();
  clock = api.clock;
  api.betweenRequestsMs = 0;
});

afterAll(async () => {
  await api.stop();
});

interface Issued {
  id: string;
  token: string;
}

const post = (path: string, body?: unknown, parts: SendParts = {}) =>
  api.send("POST", path, { ...parts, ...(body === undefined ? {} : { body }) });
const by = (secret: string): SendParts => ({ headers: { authorization: `Bearer ${secret}` } });

async function make(body: object, parts: SendParts = {}): Promise<Issued> {
  const { status, json } = await post("/v1/tokens", body, parts);
  expect(status).toBe(201);
  return json as Issued;
}

const works = async (secret: string) => (await api.send("GET", "/v1/schedules", by(secret))).status;
const faultsOf = ({ json }: ApiAnswer) => (json as { errors: { path: string }[] }).errors;

describe("tokens", () => {
  test("A new token's secret is shown once and works at once", async () => {
    const answer = await post("/v1/tokens", { name: "once", scope: "read", rate: "100/s", prefix: "a:" });
    expect(answer.json).toEqual({
      id: expect.any(String),
      name: "once",
      scope: "read",
      prefix: "a:",
      rate: "100/s",
      createdAt: at(0),
      createdBy: "adminer",
      expiresAt: null,
      lastUsedAt: null,
      rotatedAt: null,
      earlierUntil: null,
      token: expect.stringMatching(/^carillon_[0-9A-Za-z]{49}$/),
    });
    const { id, token } = answer.json as Issued;
    expect(answer.headers["location"]).toBe(`/v1/tokens/${id}`);
    expect(isMiscopied(token)).toBe(false);
    expect(await works(token)).toBe(200);
    const read = await api.send("GET", `/v1/tokens/${id}`);
    expect(read.status).toBe(200);
    expect(read.json).not.toHaveProperty("token");
    const listed = await api.send("GET", "/v1/tokens");
    for (const { body } of [read, listed]) expect(body).not.toContain(token);
    const [stored] = await api.sql<{ all: string }[]>`
      select (select string_agg(t::text, '') from carillon.tokens t) || (select string_agg(a::text, '') from carillon.audit a) as all`;
    expect(stored?.all).not.toContain(token.slice("carillon_".length, -6));
  });

  test("An expired token is refused", async () => {
    const { token } = await make({ name: "brief", scope: "read", expiresAt: at(1) });
    expect(await works(token)).toBe(200);
    await clock.setNow(new Date(at(1)));
    expect(await works(token)).toBe(401);
    await clock.setNow(begin);
  });

  test.each([
    [{ name: "carillon", scope: "read" }, "name"],
    [{ name: "handler:greet", scope: "read" }, "name"],
    [{ name: "two\u0000", scope: "read" }, "name"],
    [{ name: "x".repeat(101), scope: "read" }, "name"],
    [{ name: "ok", scope: "root" }, "scope"],
    [{ name: "ok", scope: "read", prefix: "" }, "prefix"],
    [{ name: "ok", scope: "read", prefix: "a/" }, "prefix"],
    [{ name: "ok", scope: "read", rate: "many" }, "rate"],
    [{ name: "ok", scope: "read", expiresAt: at(-1) }, "expiresAt"],
    [{ name: "ok", scope: "read", token: "mine" }, "token"],
  ])("A token with %j is refused", async (body, path) => {
    const answer = await post("/v1/tokens", body);
    expect([answer.status, faultsOf(answer)[0]?.path]).toEqual([400, path]);
  });

  test("A token's name is unique", async () => {
    await make({ name: "single", scope: "read" });
    const again = await post("/v1/tokens", { name: "single", scope: "admin" });
    expect([again.status, faultsOf(again)[0]?.path]).toEqual([409, "name"]);
  });

  test("Only admins manage tokens", async () => {
    const { id } = await make({ name: "of-admins", scope: "read" });
    for (const [method, path] of [
      ["GET", "/v1/tokens"],
      ["POST", "/v1/tokens"],
      ["GET", `/v1/tokens/${id}`],
      ["DELETE", `/v1/tokens/${id}`],
      ["POST", `/v1/tokens/${id}/rotate`],
    ] as const)
      expect((await api.send(method, path, { as: "write" })).status).toBe(403);
  });

  test("An unknown token answers 404", async () => {
    for (const id of ["nothing", "00000000-0000-4000-8000-000000000000", "x".repeat(300)]) {
      expect((await api.send("GET", `/v1/tokens/${id}`)).status).toBe(404);
      expect((await api.send("DELETE", `/v1/tokens/${id}`)).status).toBe(404);
      expect((await post(`/v1/tokens/${id}/rotate`)).status).toBe(404);
    }
  });

  test("A token shows its last use, to the minute", async () => {
    const { id, token } = await make({ name: "used", scope: "read" });
    const used = async () =>
      ((await api.send("GET", `/v1/tokens/${id}`)).json as { lastUsedAt: string | null }).lastUsedAt;
    expect(await used()).toBeNull();
    await works(token);
    expect(await used()).toBe(at(0));
    await clock.setNow(new Date(begin.getTime() + 59_000));
    await works(token);
    expect(await used()).toBe(at(0));
    await clock.setNow(new Date(begin.getTime() + 60_000));
    await works(token);
    expect(await used()).toBe(new Date(begin.getTime() + 60_000).toISOString());
    await clock.setNow(begin);
  });

  test("A locked token row does not delay requests with the token", async () => {
    const { id, token } = await make({ name: "locked", scope: "read" });
    await api.sql.begin(async (tx) => {
      await tx`select from carillon.tokens where id = ${id} for update`;
      expect(await works(token)).toBe(200);
    });
  });
});

test("Tokens are listed by name, in pages", async () => {
  for (const n of [1, 2, 3]) await make({ name: `listed-${n}`, scope: "read" });
  const names: string[] = [];
  let query = "limit=2";
  for (let page = 0; page < 20; page++) {
    const { json } = await api.send("GET", "/v1/tokens", { query });
    const { items, cursor } = json as { items: { name: string }[]; cursor?: string };
    names.push(...items.map(({ name }) => name));
    if (cursor === undefined) break;
    query = `limit=2&cursor=${cursor}`;
  }
  const all = await api.sql<{ name: string }[]>`select name from carillon.tokens order by name`;
  expect(names).toEqual(all.map(({ name }) => name));
});

describe("rotation of a token", () => {
  test("The old secret stays valid for the overlap", async () => {
    const { id, token } = await make({ name: "rotated", scope: "read" });
    const { status, json } = await post(`/v1/tokens/${id}/rotate`, { overlap: "2h" });
    expect(json).toMatchObject({ id, name: "rotated", rotatedAt: at(0), earlierUntil: at(2) });
    const { token: newer } = json as Issued;
    expect([status, await works(token), await works(newer)]).toEqual([200, 200, 200]);
    await clock.setNow(new Date(at(2)));
    expect([await works(token), await works(newer)]).toEqual([401, 200]);
    expect((await api.send("GET", `/v1/tokens/${id}`)).json).toMatchObject({ earlierUntil: null });
    await clock.setNow(begin);
  });

  test("The overlap is a day by default", async () => {
    const { id } = await make({ name: "rotated-by-default", scope: "read" });
    expect((await post(`/v1/tokens/${id}/rotate`)).json).toMatchObject({ earlierUntil: at(24) });
  });

  test("An overlap of zero ends every old secret at once", async () => {
    const first = await make({ name: "leaked", scope: "read" });
    const second = (await post(`/v1/tokens/${first.id}/rotate`)).json as Issued;
    const third = (await post(`/v1/tokens/${first.id}/rotate`, { overlap: "0s" })).json as Issued;
    expect([await works(first.token), await works(second.token), await works(third.token)]).toEqual([
      401, 401, 200,
    ]);
  });

  test("A token has a maximum number of secrets, and the refusal says how to continue", async () => {
    const { id } = await make({ name: "restless", scope: "read" });
    const statuses: number[] = [];
    for (let n = 0; n < 4; n++) statuses.push((await post(`/v1/tokens/${id}/rotate`)).status);
    expect(statuses).toEqual([200, 200, 200, 409]);
    expect((await post(`/v1/tokens/${id}/rotate`, { overlap: "0s" })).status).toBe(200);
    expect((await post(`/v1/tokens/${id}/rotate`)).status).toBe(200);
  });

  test.each(["-1s", "31d", "soon", 5])("An overlap of %j is refused", async (overlap) => {
    const { id } = await make({ name: `odd-${overlap}`, scope: "read" });
    expect((await post(`/v1/tokens/${id}/rotate`, { overlap })).status).toBe(400);
  });
});

describe("revoking a token", () => {
  test("Revoking a token ends every secret at once", async () => {
    const { id, token } = await make({ name: "taken-back", scope: "read" });
    const { token: newer } = (await post(`/v1/tokens/${id}/rotate`)).json as Issued;
    expect((await api.send("DELETE", `/v1/tokens/${id}`)).status).toBe(204);
    expect([await works(token), await works(newer)]).toEqual([401, 401]);
    await make({ name: "taken-back", scope: "read" });
    expect(await works(newer)).toBe(401);
  });

  test("The last admin token that reaches every key cannot be revoked, even if the last two are revoked at once", async () => {
    const extra = await make({ name: "extra", scope: "admin" });
    await make({ name: "prefixed-admin", scope: "admin", prefix: "a:" });
    await make({ name: "brief-admin", scope: "admin", expiresAt: at(1) });
    const [own] = await api.sql<{ id: string }[]>`select id from carillon.tokens where name = 'adminer'`;
    const ids = [extra.id, own?.id ?? ""];
    const answers = await Promise.all(ids.map((id) => api.send("DELETE", `/v1/tokens/${id}`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([204, 409]);
    const left = await api.sql<{ name: string }[]>`
      select name from carillon.tokens where scope = 'admin' and prefix is null and expires_at is null`;
    expect(left).toHaveLength(1);
    if (left[0]?.name === "adminer") return;
    await api.sql`
      insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
      values (gen_random_uuid(), sha256('admin-token'), 'adminer', 'admin', carillon.clock(), 'test')`;
  });
});

describe("a team's admin token", () => {
  test("A team's admin makes tokens under its prefix, and sees no others", async () => {
    const team = await make({ name: "team", scope: "admin", prefix: "team:" });
    const own = await make({ name: "team-worker", scope: "write" }, by(team.token));
    const deeper = await make({ name: "team-deep", scope: "read", prefix: "team:a:" }, by(team.token));
    for (const prefix of [null, "t", "tea", "other:"]) {
      const answer = await post("/v1/tokens", { name: "beyond", scope: "read", prefix }, by(team.token));
      expect([answer.status, faultsOf(answer)[0]?.path]).toEqual([403, "prefix"]);
    }
    const other = await make({ name: "other-team", scope: "read", prefix: "other:" });
    const { json } = await api.send("GET", "/v1/tokens", by(team.token));
    expect(json).toMatchObject({
      items: [
        { name: "team" },
        { name: "team-deep", prefix: "team:a:" },
        { name: "team-worker", prefix: "team:" },
      ],
    });
    for (const id of [other.id])
      for (const send of [
        api.send("GET", `/v1/tokens/${id}`, by(team.token)),
        api.send("DELETE", `/v1/tokens/${id}`, by(team.token)),
        post(`/v1/tokens/${id}/rotate`, {}, by(team.token)),
      ])
        expect((await send).status).toBe(404);
    for (const { id } of [own, deeper])
      expect((await api.send("DELETE", `/v1/tokens/${id}`, by(team.token))).status).toBe(204);
  });

  test("A token cannot give another token, or itself, more time or a higher rate than it has", async () => {
    const team = await make({ name: "bound", scope: "admin", expiresAt: at(10), rate: "10/s" });
    const inherited = await make({ name: "inherited", scope: "admin" }, by(team.token));
    expect((await api.send("GET", `/v1/tokens/${inherited.id}`)).json).toMatchObject({
      expiresAt: at(10),
      rate: "10/s",
    });
    for (const [more, path] of [
      [{ expiresAt: null }, "expiresAt"],
      [{ expiresAt: at(11) }, "expiresAt"],
      [{ rate: null }, "rate"],
      [{ rate: "11/s" }, "rate"],
      // No higher rate, but a larger burst.
      [{ rate: "600/m" }, "rate"],
      [{ rate: "11/h" }, "rate"],
    ] as const) {
      const answer = await post("/v1/tokens", { name: "more", scope: "read", ...more }, by(team.token));
      expect([answer.status, faultsOf(answer).map((fault) => fault.path)]).toEqual([403, [path]]);
    }
    await make({ name: "less", scope: "read", expiresAt: at(9), rate: "10/m" }, by(team.token));
    // Rotating a stronger token would return its secret.
    const strong = await make({ name: "strong", scope: "admin" });
    expect((await post(`/v1/tokens/${strong.id}/rotate`, {}, by(team.token))).status).toBe(403);
    expect((await post(`/v1/tokens/${team.id}/rotate`, {}, by(team.token))).status).toBe(200);
  });
});

describe("a token that is revoked during its request", () => {
  test.each<[string, (id: string) => [string, string, object?]]>([
    ["to make another one", () => ["POST", "/v1/tokens", { name: "late", scope: "admin" }]],
    ["to rotate another one", (id) => ["POST", `/v1/tokens/${id}/rotate`, {}]],
    ["to revoke another one", (id) => ["DELETE", `/v1/tokens/${id}`]],
    ["to rotate itself", () => ["POST", "/v1/tokens/itself/rotate", {}]],
  ])("A token that is revoked during its request %s does nothing more", async (what, request) => {
    const asking = await make({ name: `asking ${what}`.replaceAll(" ", "-"), scope: "admin" });
    const other = await make({ name: `other ${what}`.replaceAll(" ", "-"), scope: "read" });
    const [method, path, body] = request(other.id);
    const own = path.replace("itself", asking.id);
    const answer = await api.sql.begin(async (tx) => {
      await tx`select from carillon.tokens where id = ${asking.id} for update`;
      const answer = api.send(method, own, { ...by(asking.token), ...(body && { body }) });
      let answered = false;
      void answer.then(() => {
        answered = true;
      });
      for (let waits = 0; waits === 0 && !answered; ) {
        const found = await api.sql`
          select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
        waits = found.length;
      }
      await tx`delete from carillon.tokens where id = ${asking.id}`;
      return { answer };
    });
    expect(await answer.answer).toMatchObject({
      status: 401,
      headers: { "www-authenticate": expect.stringContaining("invalid_token") },
    });
    expect(await works(other.token)).toBe(200);
    const late =
      await api.sql`select from carillon.tokens where name = 'late' or rotated_at is not null and id = ${other.id}`;
    expect(late).toHaveLength(0);
  });

  test("Two tokens that rotate each other at once both succeed", async () => {
    const [a, b] = [
      await make({ name: "pair-a", scope: "admin" }),
      await make({ name: "pair-b", scope: "admin" }),
    ];
    const both = await Promise.all([
      post(`/v1/tokens/${b.id}/rotate`, {}, by(a.token)),
      post(`/v1/tokens/${a.id}/rotate`, {}, by(b.token)),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
  });
});

test("Changes of tokens are in the audit, without secrets", async () => {
  const { id } = await make({ name: "audited", scope: "write", prefix: "a:", rate: "5/s" });
  await post(`/v1/tokens/${id}/rotate`, { overlap: "0s" });
  await api.send("DELETE", `/v1/tokens/${id}`);
  const rows = await api.sql`
    select actor, action, detail, prefix, origin ->> 'via' as via from carillon.audit where subject = 'audited' order by id`;
  const whole = { actor: "adminer", prefix: "a:", via: "api" };
  expect(rows).toEqual([
    {
      ...whole,
      action: "token.created",
      detail: { token: id, scope: "write", prefix: "a:", rate: "5/s", expiresAt: null },
    },
    { ...whole, action: "token.rotated", detail: { token: id, earlierUntil: null } },
    { ...whole, action: "token.deleted", detail: { token: id, scope: "write", prefix: "a:" } },
  ]);
});

test("An incomplete secret is recognised before the lookup", () => {
  const secret = newSecret();
  expect(newSecret()).not.toBe(secret);
  const changed = `${secret.slice(0, 20)}${secret[20] === "x" ? "y" : "x"}${secret.slice(21)}`;
  expect([secret, changed, "carillon_mine", "mine"].map(isMiscopied)).toEqual([false, true, false, false]);
});

test("A token above its rate gets 429 with the time to wait", async () => {
  const { token } = await make({ name: "hasty", scope: "read", rate: "2/h" });
  expect([await works(token), await works(token)]).toEqual([200, 200]);
  const refused = await api.send("GET", "/v1/schedules", by(token));
  expect(refused).toMatchObject({
    status: 429,
    headers: { "retry-after": "1800", "content-type": "application/problem+json" },
    json: { type: "urn:carillon:problem:too-many", status: 429 },
  });
});
