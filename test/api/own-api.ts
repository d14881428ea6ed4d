import { createHash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { APIGatewayProxyEventV2, ScheduledEvent } from "aws-lambda";
import { type ApiParts, assemble } from "../../functions/api.ts";
import { assemble as assembleTick } from "../../functions/tick.ts";
import type { HttpResponse } from "../../lib/api/request/answer.ts";
import type { GatewayEvent } from "../../lib/api/request/incoming.ts";
import type { Environment } from "../../lib/config/environment.ts";
import { connect, type Sql } from "../../lib/db/connect.ts";
import type { Scope } from "../../lib/token/token.ts";
import { localRegion } from "../../lib/tools/local/local-account.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { type DatabaseClock, databaseClock } from "../../lib/tools/testing/virtual-clock.ts";
import { testDatabase } from "../support/database.ts";
import { monday } from "../support/instants.ts";
import { testVaultAccess } from "../support/test-vault.ts";
import { checkExchange } from "./contract.ts";
import { type EventParts, httpEvent, invocation } from "./http-event.ts";
import { restEvent } from "./rest-event.ts";

export interface SendParts extends EventParts {
  /** The scope of the token; "" for none. */
  as?: Scope | "";
}

export interface ApiAnswer {
  status: number;
  headers: Record<string, string>;
  body: string;
  /** The body parsed as JSON; undefined without one. */
  json: unknown;
}

export interface OwnApi {
  sql: Sql;
  /**
   * The clock of the database and of the function. It is fixed, except for the time that passes
   * before each request.
   */
  clock: DatabaseClock;
  /**
   * The time that passes before each request: one millisecond, so that no two requests have the
   * same instant. A test that compares instants sets 0.
   */
  betweenRequestsMs: number;
  /** Runs a tick as EventBridge does each minute: jobs that are due soon are made. */
  tick(): Promise<void>;
  /** Throws where the exchange contradicts the OpenAPI document. */
  send(method: string, path: string, parts?: SendParts): Promise<ApiAnswer>;
  /** Invokes the function itself, without a gateway. */
  invoke(event: GatewayEvent): Promise<HttpResponse>;
  /** The exchanges so far, such as `PUT /v1/schedules/{key} 201`. */
  seen: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** The event of the function, for each kind of gateway. */
const received = {
  http: (event: APIGatewayProxyEventV2) => event,
  rest: (event: APIGatewayProxyEventV2) => restEvent(event),
  "rest with a domain": (event: APIGatewayProxyEventV2) => restEvent(event, ""),
};
export type Gateway = keyof typeof received;

/**
 * `CARILLON_TEST_GATEWAY=rest npx vitest run test/api` sends the requests of these tests through a
 * REST API.
 */
const gatewayByDefault: Gateway =
  process.env["CARILLON_TEST_GATEWAY"] === "rest" ? "rest with a domain" : "http";

/**
 * The API's Lambda handler over its own database, with the role that it has in production, and over
 * its own queues.
 */
export async function ownApi(
  settings: Environment = {},
  gateway: Gateway = gatewayByDefault,
  /** The address by which the API reaches its database. */
  wayTo: (databaseUrl: string) => string | Promise<string> = (databaseUrl) => databaseUrl,
  /** Parts of the function that the test replaces. */
  replaced: Partial<ApiParts> = {},
): Promise<OwnApi> {
  const database = await testDatabase("still");
  const sql = connect({ DATABASE_URL: database.url }, { max: 2 });
  const clock = await databaseClock(sql, monday);
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-api-"));
  const attributes = { VisibilityTimeout: "60" };
  const queues = await startQueues({
    dataDir,
    port: 0,
    queues: [
      { name: "carillon-fast", attributes },
      { name: "carillon-slow", attributes },
    ],
  });
  const environment = {
    FAST_QUEUE_URL: queues.queueUrl("carillon-fast"),
    SLOW_QUEUE_URL: queues.queueUrl("carillon-slow"),
    AWS_REGION: localRegion,
    AWS_ENDPOINT_URL_SQS: queues.url,
    AWS_ACCESS_KEY_ID: "carillon",
    AWS_SECRET_ACCESS_KEY: "carillon",
    CARILLON_LOG: "silent",
  };
  const parts = settings["WEBHOOK_FUNCTION"] === undefined ? { clock, vault: testVaultAccess } : { clock };
  const databaseUrl = await wayTo(await loginAsApi(sql, database.url));
  const { handler, close } = assemble(
    { ...environment, ...settings, DATABASE_URL: databaseUrl },
    { ...parts, ...replaced },
  );
  const ticking = assembleTick({ ...environment, DATABASE_URL: database.url });
  for (const scope of ["read", "write", "admin"] as const) await insertToken(sql, scope);

  let passing = Promise.resolve();
  /** Moves the clock for one request after the other, so that it is never set back. */
  const passTime = () => {
    passing = passing.then(async () => {
      if (own.betweenRequestsMs > 0) await clock.advance(own.betweenRequestsMs);
    });
    return passing;
  };

  const seen = new Set<string>();
  const own: OwnApi = {
    sql,
    clock,
    betweenRequestsMs: 1,
    seen,
    invoke: (event) => handler(event, invocation),
    tick: async () => {
      await ticking.handler(scheduledEvent, invocation);
    },
    send: async (method, rawPath, { as = "admin", ...parts } = {}) => {
      const authorization = as === "" ? {} : { authorization: `Bearer ${as}-token` };
      const event = httpEvent(method, rawPath, { ...parts, headers: { ...authorization, ...parts.headers } });
      await passTime();
      const { statusCode, headers, body } = await handler(received[gateway](event), invocation);
      const answer = { status: statusCode, headers, body, json: body === "" ? undefined : JSON.parse(body) };
      const sent = {
        query: event.rawQueryString,
        headers: event.headers,
        body: event.isBase64Encoded ? undefined : event.body,
      };
      const exchanged = checkExchange({ method, path: rawPath, ...sent, answer });
      if (exchanged !== null) seen.add(exchanged);
      return answer;
    },
    stop: async () => {
      await close();
      await ticking.close();
      await queues.stop();
      await sql.end();
      await database.drop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
  return own;
}

const scheduledEvent: ScheduledEvent = {
  id: "0",
  version: "0",
  account: "000000000000",
  time: "2026-01-01T00:00:00Z",
  region: localRegion,
  resources: [],
  source: "aws.events",
  "detail-type": "Scheduled Event",
  detail: {},
};

/**
 * Roles belong to the whole server, so the login has a unique name and is a member of
 * `carillon_api`.
 */
async function loginAsApi(sql: Sql, databaseUrl: string): Promise<string> {
  const name = `api_${randomBytes(6).toString("hex")}`;
  await sql.unsafe(`create role ${name} login password 'api' in role carillon_api`);
  const url = new URL(databaseUrl);
  url.username = name;
  url.password = "api";
  return url.href;
}

async function insertToken(sql: Sql, scope: Scope): Promise<void> {
  const hash = createHash("sha256").update(`${scope}-token`).digest();
  await sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (gen_random_uuid(), ${hash}, ${`${scope}er`}, ${scope}, carillon.clock(), 'test')`;
}
