import { createHash } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import type { APIGatewayProxyEventV2 } from "aws-lambda";
import { assemble as assembleApi } from "../../functions/api.ts";
import { assemble as assemblePage } from "../../functions/page.ts";
import { Carillon as Client } from "../../lib/client/main.ts";
import { systemClock } from "../../lib/clock.ts";
import type { LoopbackServer } from "../../lib/tools/local/http-server.ts";
import { type LocalFunction, localFunction } from "../../lib/tools/local/lambda/local-function.ts";
import { startHttp } from "../../lib/tools/local/lambda/start-http.ts";
import { localRegion } from "../../lib/tools/local/local-account.ts";
import { startQueues } from "../../lib/tools/local/queue/start-queues.ts";
import { checkExchange } from "../api/contract.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { builtPage } from "./built-page.ts";

/** The token of these tests' operator. */
export const adminToken = "admin-token";

/** The page and the API on one origin, as behind the gateway, over a database whose clock stands still. */
export interface OwnPage {
  world: Carillon;
  url: string;
  /** The API's client, as the operator. */
  client: Client;
  /** Requests of the page that contradict the OpenAPI document. */
  contradictions: string[];
  /** Ends the server, as if the deployment were gone; `comeBack` starts it on the same port. */
  goAway(): Promise<void>;
  comeBack(): Promise<void>;
  stop(): Promise<void>;
}

/** The port, the settings and the authorizer of a page behind a gateway that authenticates callers. */
export interface Behind {
  port: number;
  apiEnv: Readonly<Record<string, string>>;
  pageEnv: Readonly<Record<string, string>>;
  authorized(
    event: APIGatewayProxyEventV2,
    invoke: (event: APIGatewayProxyEventV2) => Promise<unknown>,
  ): Promise<unknown>;
}

/** A gateway that leaves the callers to the API. */
export const byTokens: Behind = {
  port: 0,
  apiEnv: {},
  pageEnv: { PAGE_NAME: "production" },
  authorized: (event, invoke) => invoke(event),
};

export async function ownPage(start: string, behind: Behind = byTokens): Promise<OwnPage> {
  const stop = new AsyncDisposableStack();
  const world = await carillon({ start });
  stop.defer(() => world.stop());
  const api = checked(await startApi(world, stop, behind.apiEnv));
  const page = localFunction(
    {
      name: "page",
      assemble: assemblePage,
      env: { PAGE_DIRECTORY: await builtPage(), ...behind.pageEnv },
      timeoutMs: 30_000,
      concurrency: 1,
    },
    { clock: systemClock, log: world.log },
  );
  stop.defer(() => page.close(0));
  let server: LoopbackServer | null = null;
  const invoke = (event: APIGatewayProxyEventV2) => behind.authorized(event, api.invoked.invoke);
  const serve = async (port: number) => {
    server = await startHttp({
      port,
      api: { ...api.invoked, invoke },
      page,
      clock: systemClock,
      log: world.log,
    });
    return server;
  };
  const { url, port } = await serve(behind.port);
  const goAway = async () => {
    await server?.close(0);
    server = null;
  };
  stop.defer(goAway);
  return {
    world,
    url,
    client: new Client({ url, token: adminToken }),
    contradictions: api.contradictions,
    goAway,
    comeBack: async () => {
      await serve(port);
    },
    stop: () => stop.disposeAsync(),
  };
}

type Api = LocalFunction<APIGatewayProxyEventV2, unknown>;

async function startApi(world: Carillon, stop: AsyncDisposableStack, apiEnv: Behind["apiEnv"]): Promise<Api> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "carillon-page-queues-"));
  stop.defer(() => rm(dataDir, { recursive: true, force: true }));
  const queues = await startQueues({
    dataDir,
    port: 0,
    queues: ["carillon-fast", "carillon-slow"].map((name) => ({ name, attributes: {} })),
  });
  stop.defer(() => queues.stop());
  const env = {
    DATABASE_URL: world.databaseUrl,
    FAST_QUEUE_URL: queues.queueUrl("carillon-fast"),
    SLOW_QUEUE_URL: queues.queueUrl("carillon-slow"),
    AWS_REGION: localRegion,
    AWS_ENDPOINT_URL_SQS: queues.url,
    AWS_ACCESS_KEY_ID: "carillon",
    AWS_SECRET_ACCESS_KEY: "carillon",
    CARILLON_LOG: "silent",
    ...apiEnv,
  };
  const hash = createHash("sha256").update(adminToken).digest();
  await world.sql`
    insert into carillon.tokens (id, hash, name, scope, created_at, created_by)
    values (gen_random_uuid(), ${hash}, 'ops', 'admin', carillon.clock(), 'test')`;
  const api: Api = localFunction(
    {
      name: "api",
      assemble: (environment) => assembleApi(environment, { clock: world.clock }),
      env,
      timeoutMs: 30_000,
      concurrency: 4,
    },
    { clock: systemClock, log: world.log },
  );
  stop.defer(() => api.close(1_000));
  return api;
}

/** Compares each request and its answer with the OpenAPI document. */
function checked(api: Api): { invoked: Api; contradictions: string[] } {
  const contradictions: string[] = [];
  const invoke = async (event: APIGatewayProxyEventV2) => {
    const answer = await api.invoke(event);
    if (isAnswer(answer)) {
      const { statusCode: status, headers, body } = answer;
      const { rawPath, rawQueryString: query, requestContext, headers: sent, body: sentBody } = event;
      const json: unknown = body === "" ? undefined : JSON.parse(body);
      const { method } = requestContext.http;
      try {
        checkExchange({
          method,
          path: rawPath,
          query,
          headers: sent,
          body: sentBody,
          answer: { status, headers, body, json },
        });
      } catch (error) {
        contradictions.push(String(error));
      }
    }
    return answer;
  };
  return { invoked: { ...api, invoke }, contradictions };
}

interface Answer {
  statusCode: number;
  headers: Record<string, string>;
  body: string;
}

function isAnswer(answer: unknown): answer is Answer {
  return typeof answer === "object" && answer !== null && "statusCode" in answer && "body" in answer;
}
