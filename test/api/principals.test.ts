import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jwtPrincipals } from "../../lib/api/sign-in/principals.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { type Gateway, type OwnApi, ownApi, type SendParts } from "./own-api.ts";

const account = "123456789012";
const role = (name: string) => ({
  iam: { userArn: `arn:aws:sts::${account}:assumed-role/${name}/session-${name}`, accountId: account },
});
const claiming = (claims: Record<string, unknown>) => ({ jwt: { claims, scopes: null } });

const byIam: Environment = {
  API_AUTH: "iam",
  API_RATE: "6/h",
  API_PRINCIPALS: [
    `arn:aws:iam::${account}:role/deployer admin`,
    `arn:aws:iam::${account}:role/billing-* write billing:`,
    `arn:aws:iam::${account}:user/watcher read`,
  ].join("\n"),
};
const byJwt: Environment = {
  API_AUTH: "jwt",
  API_JWT_SCOPE_CLAIM: "scope",
  API_JWT_SCOPE_PREFIX: "carillon/",
  API_JWT_PREFIX_CLAIM: "tenant",
};

const body = { when: "every 1h", target: { queue: "demo" } };

/** Starts one API after another, each with its own database. */
function world(environment: Environment, gateway?: Gateway) {
  let api: OwnApi;
  beforeAll(async () => {
    api = await ownApi(environment, gateway);
  });
  afterAll(() => api.stop());
  const send = (method: string, path: string, parts: SendParts = {}) =>
    api.send(method, path, { as: "", ...parts });
  const tokensOf = async () => (await api.sql<{ name: string }[]>`select name from carillon.tokens`).length;
  return { send, tokensOf, sql: () => api.sql };
}

describe.each(["http", "rest"] as const)("sign-in by IAM, through a %s API", (gateway) => {
  const { send } = world(byIam, gateway);
  const as = (name: string, parts: SendParts = {}) => ({ authorizer: role(name), ...parts });

  test("A role learns its own scope, prefix and rate from GET /v1/token", async () => {
    expect(await send("GET", "/v1/token", as("billing-me"))).toMatchObject({
      status: 200,
      json: {
        name: `iam:${account}:role:billing-me`,
        signIn: "iam",
        scope: "write",
        prefix: "billing:",
        rate: { of: "token", limit: "6/h", left: 5 },
        expiresAt: null,
      },
    });
  });

  test("A role has the scope and the prefix of its first entry in API_PRINCIPALS", async () => {
    expect(await send("PUT", "/v1/schedules/billing:1", as("billing-eu", { body }))).toMatchObject({
      status: 201,
      json: {
        createdBy: `iam:${account}:role:billing-eu`,
        updatedBy: `iam:${account}:role:billing-eu`,
      },
    });
    const foreign = await send("PUT", "/v1/schedules/orders:1", as("billing-eu", { body }));
    expect(foreign.status).toBe(403);
    expect((await send("GET", "/v1/audit", as("billing-eu"))).status).toBe(403);
    const audit = await send("GET", "/v1/audit", as("deployer", { query: "subject=billing:1" }));
    expect(audit.json).toMatchObject({ items: [{ actor: `iam:${account}:role:billing-eu` }] });
  });

  test("A signed principal that is not allowed gets 403", async () => {
    const answer = await send("GET", "/v1/schedules", as("somebody"));
    expect(answer.status).toBe(403);
    expect(answer.json).toMatchObject({ detail: expect.stringContaining("assumed-role/somebody") });
    // A name that only begins like an allowed one, and a role of another account.
    expect((await send("GET", "/v1/schedules", as("deployer2"))).status).toBe(403);
    const elsewhere = { iam: { userArn: "arn:aws:sts::999999999999:assumed-role/deployer/s" } };
    expect((await send("GET", "/v1/schedules", { authorizer: elsewhere })).status).toBe(403);
  });

  test("Headers do not sign in: neither a valid token nor one that imitates the gateway", async () => {
    expect((await send("GET", "/v1/schedules", { as: "admin" })).status).toBe(401);
    const headers = {
      "x-amzn-iam-user-arn": role("deployer").iam.userArn,
      "x-amz-requestcontext": JSON.stringify({ authorizer: role("deployer") }),
    };
    expect((await send("GET", "/v1/schedules", { headers })).status).toBe(401);
    expect((await send("GET", "/v1/schedules", { authorizer: claiming({ sub: "a" }) })).status).toBe(401);
    expect((await send("GET", "/health")).status).toBe(200);
  });

  test("An IAM user is recognised by its name, under any path", async () => {
    const authorizer = { iam: { userArn: `arn:aws:iam::${account}:user/ops/eu/watcher` } };
    expect((await send("GET", "/v1/schedules", { authorizer })).status).toBe(200);
    expect((await send("PUT", "/v1/schedules/a", { authorizer, body })).status).toBe(403);
  });

  test("A repeated request gets the stored answer only from the same principal", async () => {
    const headers = { "idempotency-key": "once" };
    const first = await send("POST", "/v1/schedules", as("deployer", { body, headers }));
    const again = await send("POST", "/v1/schedules", as("deployer", { body, headers }));
    expect([again.status, again.headers["idempotent-replayed"]]).toEqual([201, "true"]);
    expect(again.body).toBe(first.body);
    const other = await send("POST", "/v1/schedules", as("billing-eu", { body, headers }));
    expect([other.status, other.headers["idempotent-replayed"]]).toEqual([201, undefined]);
  });

  test("The deployment's rate applies to each principal", async () => {
    const asked = async () => (await send("GET", "/v1/schedules", as("billing-us"))).status;
    const statuses: number[] = [];
    for (let n = 0; n < 7; n++) statuses.push(await asked());
    expect(statuses).toEqual([200, 200, 200, 200, 200, 200, 429]);
  });
});

describe("sign-in by JWT", () => {
  const { send, tokensOf, sql } = world(byJwt);
  const as = (scope: string, more: Record<string, unknown> = {}, parts: SendParts = {}) => ({
    authorizer: claiming({ sub: "ann", scope, tenant: "*", ...more }),
    ...parts,
  });

  test("The highest of Carillon's scopes in a JWT applies, and other scopes are ignored", async () => {
    const statusOf = async (scope: string) =>
      (await send("PUT", "/v1/schedules/scoped", as(scope, {}, { body }))).status;
    expect(await statusOf("carillon/read openid")).toBe(403);
    expect(await statusOf("write admin")).toBe(403);
    // A single foreign scope with a comma in its name.
    expect(await statusOf("x,carillon/admin")).toBe(403);
    expect(await statusOf("openid carillon/write carillon/read")).toBe(201);
    // A list as the gateway writes it into a claim.
    expect(await statusOf("[openid carillon/write]")).toBe(200);
    expect((await send("GET", "/v1/audit", as("carillon/write"))).status).toBe(403);
    expect((await send("GET", "/v1/audit", as("carillon/admin"))).status).toBe(200);
  });

  test("The claim with the prefix limits the keys of a caller; a JWT without this claim reaches no key", async () => {
    const tenant = (name: unknown) => as("carillon/write", { tenant: name }, { body });
    expect((await send("PUT", "/v1/schedules/acme:1", tenant("acme:"))).status).toBe(201);
    expect((await send("PUT", "/v1/schedules/other:1", tenant("acme:"))).status).toBe(403);
    for (const none of [undefined, "", "a/b", "\u0000", 7])
      expect((await send("PUT", "/v1/schedules/acme:2", tenant(none))).status).toBe(403);
  });

  test("Scope and prefix come from the request's JWT, not from an earlier request of the same subject", async () => {
    const subject = { sub: "changing" };
    const put = (scope: string, tenant: string) =>
      send("PUT", "/v1/schedules/changing:1", as(scope, { ...subject, tenant }, { body }));
    expect((await put("carillon/admin", "*")).status).toBe(201);
    expect((await put("carillon/read", "*")).status).toBe(403);
    expect((await put("carillon/admin", "acme:")).status).toBe(403);
    expect((await put("carillon/write", "changing:")).status).toBe(200);
    const before = await tokensOf();
    await Promise.all(["*", "acme:", "changing:"].map((tenant) => put("carillon/write", tenant)));
    expect(await tokensOf()).toBe(before);
  });

  test("A stored answer for one prefix is not returned to the same subject with another prefix", async () => {
    const headers = { "idempotency-key": "switched" };
    const post = (tenant: string) =>
      send("POST", "/v1/schedules", as("carillon/write", { tenant }, { body, headers }));
    expect((await post("acme:")).status).toBe(201);
    const elsewhere = await post("other:");
    expect([elsewhere.status, elsewhere.body.includes("acme:")]).toEqual([409, false]);
    expect((await post("acme:")).headers["idempotent-replayed"]).toBe("true");
  });

  test("Callers with different JWT subjects have different names, even if a subject is no valid name", async () => {
    const made = async (sub: string) =>
      Object((await send("POST", "/v1/schedules", as("carillon/write", { sub }, { body }))).json).createdBy;
    const long = "auth0|".padEnd(200, "x");
    const names = [await made("auth0|one"), await made("a/b"), await made("a%2fb"), await made(long)];
    expect(names[0]).toBe("jwt:auth0|one");
    expect(names.slice(1)).toEqual(Array(3).fill(expect.stringMatching(/^jwt:[0-9a-f]{40}$/)));
    expect(new Set(names).size).toBe(4);
    expect((await send("GET", "/v1/schedules", as("carillon/read", { sub: "" }))).status).toBe(403);
  });

  test("With sign-in by JWT, tokens do not sign in, and no token can be made or rotated", async () => {
    expect((await send("GET", "/v1/schedules", { as: "admin" })).status).toBe(401);
    expect((await send("GET", "/v1/schedules", { authorizer: role("deployer") })).status).toBe(401);
    const admin = (parts: SendParts = {}) => as("carillon/admin", {}, parts);
    const made = await send("POST", "/v1/tokens", admin({ body: { name: "t", scope: "read" } }));
    expect(made.status).toBe(422);
    const [token] = await sql()<{ id: string }[]>`select id from carillon.tokens where name = 'writer'`;
    expect((await send("POST", `/v1/tokens/${token?.id}/rotate`, admin())).status).toBe(422);
  });

  test("A deleted principal is admitted again with its next request", async () => {
    const seen = { sub: "forgotten" };
    for (let n = 0; n < 2; n++) {
      expect((await send("GET", "/v1/schedules", as("carillon/read", seen))).status).toBe(200);
      const [row] = await sql()<
        { id: string }[]
      >`select id from carillon.tokens where name = 'jwt:forgotten'`;
      expect((await send("DELETE", `/v1/tokens/${row?.id}`, as("carillon/admin"))).status).toBe(204);
    }
  });
});

describe("sign-in by token", () => {
  const { send, sql } = world({});

  test("With sign-in by token, a caller that the gateway names is not signed in", async () => {
    for (const authorizer of [role("deployer"), claiming({ sub: "ann", scope: "carillon/admin" })])
      expect((await send("GET", "/v1/schedules", { authorizer })).status).toBe(401);
  });

  test("A stored principal has no secret, cannot be rotated, and does not count as the last admin", async () => {
    await sql()`
      insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
      values ('00000000-0000-4000-8000-000000000009', 'principal', 'jwt:ann', 'admin', carillon.clock(), 'carillon')`;
    const path = "/v1/tokens/00000000-0000-4000-8000-000000000009";
    expect((await send("POST", `${path}/rotate`, { as: "admin" })).status).toBe(409);
    const [admin] = await sql()<{ id: string }[]>`select id from carillon.tokens where name = 'adminer'`;
    const last = await send("DELETE", `/v1/tokens/${admin?.id}`, { as: "admin" });
    expect(last).toMatchObject({ status: 409 });
    expect((await send("DELETE", path, { as: "admin" })).status).toBe(204);
  });

  test("A token cannot have the name of a principal", async () => {
    const made = { body: { name: "iam:123456789012:role:deployer", scope: "read" }, as: "admin" } as const;
    expect((await send("POST", "/v1/tokens", made)).status).toBe(400);
  });
});

test("The end of a prefix keeps a tenant from the keys of tenants with longer names; an empty claim reaches no key", () => {
  const read = jwtPrincipals({ scope: "scope", scopePrefix: "", prefix: "tenant", prefixEnd: ":" });
  const prefixOf = (tenant: string) =>
    read({ authorizer: claiming({ sub: "ann", scope: "read", tenant }) }).prefix;
  expect([prefixOf("acme"), prefixOf("*")]).toEqual(["acme:", null]);
  expect(() => prefixOf("a/b")).toThrow("not a valid prefix of keys");
  // Otherwise all callers without a tenant would share the prefix `:`.
  expect(() => prefixOf("")).toThrow("no claim");
});

test("A wrong environment variable of sign-in is reported at startup", async () => {
  await expect(ownApi({ API_AUTH: "none" })).rejects.toThrow("API_AUTH");
  await expect(ownApi({ API_AUTH: "iam" })).rejects.toThrow("API_PRINCIPALS");
  const wrong = ["*", "arn:aws:iam::123456789012:role/a", "arn:aws:iam::123456789012:role/a/b read"];
  for (const API_PRINCIPALS of wrong)
    await expect(ownApi({ API_AUTH: "iam", API_PRINCIPALS })).rejects.toThrow("it takes principals");
});
