import { LambdaClient } from "@aws-sdk/client-lambda";
import { makeApi } from "../lib/api/handler.ts";
import { makeOperations } from "../lib/api/operations/operations.ts";
import type { HttpResponse } from "../lib/api/request/answer.ts";
import { corsFrom } from "../lib/api/request/cors.ts";
import { makeAnswerOnce } from "../lib/api/request/idempotency.ts";
import type { GatewayEvent } from "../lib/api/request/incoming.ts";
import { type RequestLimits, requestLimits } from "../lib/api/request/kinds.ts";
import { authenticateFrom } from "../lib/api/sign-in/authenticate-from.ts";
import { type Buckets, deploymentRatesFrom, makeRateLimit } from "../lib/api/sign-in/rate-limit.ts";
import { type Clock, systemClock } from "../lib/clock.ts";
import { allowedTargetsFrom } from "../lib/command/allowed-targets.ts";
import { awsClientSettings } from "../lib/config/aws.ts";
import { type Environment, flag, integer } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { answerMs } from "../lib/config/function-connections.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { connect, type Sql } from "../lib/db/connect.ts";
import { withoutSeat } from "../lib/db/request-time.ts";
import { rememberedSql } from "../lib/idempotency/remembered-sql.ts";
import { definedOnce } from "../lib/limit/define-limits.ts";
import type { Log } from "../lib/log/log.ts";
import type { ParcelQueue } from "../lib/parcel/parcel-queue.ts";
import { parcelQueueFrom } from "../lib/parcel/parcel-queue-from.ts";
import { keptCursorKey } from "../lib/sealing/cursor-key.ts";
import type { VaultAccess } from "../lib/sealing/vault-request.ts";
import { callLimits } from "../lib/target/invoke-function.ts";
import { vaultBehind } from "../lib/target/vault-function.ts";
import { giveBackUnits, takeUnits } from "../lib/token/rate-buckets.ts";
import { noteUse } from "../lib/token/token.ts";
import { type OwnHandlers, ownHandlers } from "./own-handlers.ts";

/** The parts that a test replaces. */
export interface ApiParts {
  clock: Clock;
  log: Log;
  sql: Sql;
  queue: ParcelQueue;
  own: OwnHandlers;
  vault: VaultAccess;
  limits: RequestLimits;
}

export function assemble(
  env: Environment,
  parts: Partial<ApiParts> = {},
): Assembled<GatewayEvent, HttpResponse> {
  const { clock = systemClock, log = logFrom(env, "api") } = parts;
  const {
    sql: connected = connect(env, { applicationName: "carillon-api", answerMs: answerMs.others, log }),
    queue = parcelQueueFrom(env, log),
    own = ownHandlers(log),
  } = parts;
  const sql = rememberedSql(connected);
  const limitsDefined = definedOnce(sql, log, own);
  const rates = deploymentRatesFrom(env);
  const targets = allowedTargetsFrom(env);
  const lambda = new LambdaClient({ ...awsClientSettings(env, "LAMBDA", callLimits), maxAttempts: 1 });
  const sender = env["WEBHOOK_FUNCTION"] ?? "";
  const { vault = sender === "" ? null : vaultBehind(lambda, sender) } = parts;
  // Not through the memory of requests: a request that is carried out again is charged again.
  const buckets: Buckets = {
    take: (...asked) => withoutSeat(() => takeUnits(connected, ...asked)),
    giveBack: (...given) => withoutSeat(() => giveBackUnits(connected, ...given)),
  };
  const answer = makeApi({
    operations: makeOperations({ sql, queue, log, ...own, targets, vault, rates }),
    authenticate: authenticateFrom(env, sql),
    admit: makeRateLimit(buckets, { clock, rates }),
    noteUse: (token) => noteUse(sql, token),
    answerOnce: makeAnswerOnce(sql),
    cursorKey: keptCursorKey(connected),
    cors: corsFrom(env),
    requireIfMatch: flag(env, "REQUIRE_IF_MATCH"),
    limits: parts.limits ?? requestLimits,
    requestsPerTeam: integer(env, "API_REQUESTS_PER_PREFIX", 0, { min: 1, max: 5_000 }) || null,
    clock,
    log,
  });
  return {
    handler: async (event, invocation) => {
      await limitsDefined();
      return answer(event, invocation);
    },
    close: async () => {
      queue.sqs.destroy();
      lambda.destroy();
      await sql.end();
    },
  };
}

export const handler = onDemand((env) => assemble(env), { hasHandlers: true });
