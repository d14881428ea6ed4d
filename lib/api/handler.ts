import middy from "@middy/core";
import type { Context } from "aws-lambda";
import type { Clock } from "../clock.ts";
import type { Invocation } from "../config/function.ts";
import { inRequestTime } from "../db/request-time.ts";
import { errorText, framesOf } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { PresentedToken, Token } from "../token/token.ts";
import { openApiRoute } from "./document/openapi.ts";
import type { Operations } from "./operations/operations.ts";
import { type HttpResponse, toHttp } from "./request/answer.ts";
import type { Cors } from "./request/cors.ts";
import type { Charge } from "./request/cost.ts";
import type { AnswerOnce } from "./request/idempotency.ts";
import { type GatewayEvent, type Incoming, incomingFrom } from "./request/incoming.ts";
import { type RequestLimits, requestLimits } from "./request/kinds.ts";
import { conditionalRoutes } from "./request/preconditions.ts";
import { problemAnswer } from "./request/problem-answer.ts";
import { readRequest } from "./request/request.ts";
import type { Route } from "./request/route.ts";
import { makeRouter, notAllowed } from "./request/router.ts";
import { sealedCursors } from "./request/sealed-cursors.ts";
import { credentialRoutes } from "./routes/access/credential-routes.ts";
import { quotaRoutes } from "./routes/access/quota-routes.ts";
import { agendaRoutes } from "./routes/agenda-routes.ts";
import { auditRoutes } from "./routes/audit-routes.ts";
import { batchRoutes } from "./routes/batch-routes.ts";
import { bulkRoutes } from "./routes/bulk-routes.ts";
import { calendarRoutes } from "./routes/calendar-routes.ts";
import { commandRoutes } from "./routes/command-routes.ts";
import { enqueueRoutes } from "./routes/enqueue-routes.ts";
import { fireRoutes } from "./routes/fire-routes.ts";
import { forecastRoutes } from "./routes/forecast-routes.ts";
import { groupRoutes } from "./routes/group-routes.ts";
import { holdRoutes } from "./routes/hold-routes.ts";
import { inboxRoutes } from "./routes/inbox-routes.ts";
import { jobGroupRoutes } from "./routes/job-group-routes.ts";
import { jobRoutes } from "./routes/job-routes.ts";
import { limitRoutes } from "./routes/limit-routes.ts";
import { arrivalRoutes } from "./routes/moves/arrival-routes.ts";
import { moveRoutes } from "./routes/moves/move-routes.ts";
import { outageRoutes } from "./routes/outage-routes.ts";
import { ownTokenRoute } from "./routes/own-token-route.ts";
import { problemRoutes } from "./routes/problem-routes.ts";
import { quarantineRoutes } from "./routes/quarantine-routes.ts";
import { scheduleRoutes } from "./routes/schedule-routes.ts";
import { seriesRoutes } from "./routes/series-routes.ts";
import { statsRoutes } from "./routes/stats-routes.ts";
import { timeRoutes } from "./routes/time-routes.ts";
import { tokenRoutes } from "./routes/token-routes.ts";
import { versionRoutes } from "./routes/version-routes.ts";
import { zoneRoutes } from "./routes/zone-routes.ts";
import type { Authenticate } from "./sign-in/authenticate.ts";

export interface ApiParts {
  operations: Operations;
  authenticate: Authenticate;
  /**
   * Takes the unit of a request, or throws a 429 problem where a rate of the token is used up. The
   * charge takes the units of the request's work.
   */
  admit: (token: PresentedToken) => Promise<Charge>;
  /** Notes that the token was used. The request neither waits for it nor fails with it. */
  noteUse: (token: PresentedToken) => Promise<void>;
  /**
   * Refuses edits without If-Match or If-None-Match, so that no caller overwrites an edit it has
   * not read.
   */
  requireIfMatch?: boolean;
  /** Origins whose pages may call the API. Default: only the API's own. */
  cors?: Cors | null;
  /**
   * Wraps the answer to a request with an Idempotency-Key, so that the request is carried out once.
   */
  answerOnce: AnswerOnce;
  /** The key with which cursors are encrypted. */
  cursorKey: () => Promise<Buffer>;
  /** The limits of each kind of request. */
  limits?: RequestLimits;
  /** How many requests of one team may use the database at a time. */
  requestsPerTeam?: number | null;
  clock: Clock;
  log: Log;
}

/** One request on its way through the middlewares. */
interface Exchange {
  incoming: Incoming;
  requestId: string;
  startedAt: number;
  token?: Token;
  charge?: Charge;
  /** The secret with which the stored answer of a request with an Idempotency-Key is encrypted. */
  secret?: string;
  /** Work that runs beside the request and is awaited before its answer is sent. */
  beside?: Promise<void>;
}

type Middleware = middy.MiddlewareObj<Exchange, HttpResponse>;

export function apiRoutes(
  operations: Operations,
  { requireIfMatch = false }: { requireIfMatch?: boolean } = {},
): Route[] {
  const all = [
    ...scheduleRoutes(operations),
    ...batchRoutes(operations),
    ...bulkRoutes(operations),
    ...timeRoutes(operations),
    ...versionRoutes(operations),
    ...fireRoutes(operations),
    ...enqueueRoutes(operations),
    ...calendarRoutes(operations),
    ...groupRoutes(operations),
    ...holdRoutes(operations),
    ...jobRoutes(operations),
    ...jobGroupRoutes(operations),
    ...limitRoutes(operations),
    ...zoneRoutes(operations),
    ...problemRoutes(operations),
    ...statsRoutes(operations),
    ...forecastRoutes(operations),
    ...seriesRoutes(operations),
    ...agendaRoutes(operations),
    ...tokenRoutes(operations),
    ...credentialRoutes(operations),
    ...quotaRoutes(operations),
    ...moveRoutes(operations),
    ...arrivalRoutes(operations),
    ...auditRoutes(operations),
    ...inboxRoutes(operations),
    ...commandRoutes(operations),
    ...quarantineRoutes(operations),
    ...outageRoutes(operations),
  ];
  const routes = conditionalRoutes([...all, ownTokenRoute(operations, all)], { requireIfMatch });
  return [...routes, openApiRoute(routes)];
}

/**
 * The API as a Lambda handler. Each request is logged, its errors become problem answers, it is
 * authenticated, and then it is routed, in this order.
 */
export function makeApi(
  parts: ApiParts,
): (event: GatewayEvent, invocation: Invocation) => Promise<HttpResponse> {
  const { clock, operations, limits = requestLimits, requestsPerTeam } = parts;
  const router = makeRouter(apiRoutes(operations, parts), { limits, requestsPerTeam });
  const cursors = sealedCursors(parts.cursorKey);
  const answered = middy<Exchange, HttpResponse>(async (exchange: Exchange) => {
    const { incoming, requestId, token, secret, charge } = exchange;
    if (token === undefined || secret === undefined || charge === undefined)
      throw new Error("A request reached the router without being authenticated.");
    if (incoming.path === "/health") throw notAllowed(["GET"]);
    const request = await cursors.opened(readRequest(incoming, requestId), token.prefix);
    const answer = router(request, token, charge);
    return parts.answerOnce({ incoming, requestId, token, secret }, async () =>
      toHttp(await cursors.sealed(await answer(), token.prefix)),
    );
  })
    .use(requestLog(parts))
    .use(problems())
    .use(preflight(parts))
    .use(healthProbe(operations))
    .use(known(parts));
  return async (event, invocation) => {
    const incoming = incomingFrom(event);
    const exchange = { incoming, requestId: invocation.awsRequestId, startedAt: clock.now().getTime() };
    // From Lambda's context middy reads only the remaining time, which an Invocation has.
    const whole = { statementMs: null, until: performance.now() + limits.bulk.wholeMs };
    const answer = sent(
      await inRequestTime(whole, () => answered(exchange, invocation as Context)),
      exchange,
    );
    return parts.cors?.shown(incoming, answer) ?? answer;
  };
}

/**
 * An answer as it is sent: with the id of the request, and with the base path in its Location,
 * because routes know only the path behind it. A stored answer gets the id of the repeat.
 */
function sent(answer: HttpResponse, { incoming, requestId }: Exchange): HttpResponse {
  const { location } = answer.headers;
  const whole = location === undefined ? {} : { location: `${incoming.base}${location}` };
  return { ...answer, headers: { ...answer.headers, ...whole, "request-id": requestId } };
}

/** Statuses that are logged as rejected, with the caller's address. */
const rejectedStatuses: ReadonlySet<number> = new Set([401, 403, 429]);

/** Requests that take at least this long are logged as slow. */
const slowMs = 3_000;

function requestLog({ clock, log }: ApiParts): Middleware {
  const write = ({ event, response, error }: middy.Request<Exchange, HttpResponse>) => {
    const { requestId, startedAt, token, incoming } = event;
    const status = response?.statusCode ?? 500;
    const request = {
      requestId,
      method: incoming.method.slice(0, 20),
      path: loggable(incoming.path),
      ...(token === undefined ? {} : bearerOf(token)),
    };
    const ms = clock.now().getTime() - startedAt;
    if (rejectedStatuses.has(status)) log.warn("api.request", { ...request, status, ms, from: incoming.ip });
    else if (ms >= slowMs) log.warn("api.request", { ...request, status, ms, slow: true });
    else log.info("api.request", { ...request, status, ms });
    if (status >= 500)
      log.error("api.failed", { ...request, error: errorText(error), stack: framesOf(error) });
  };
  return { after: write, onError: write };
}

/** The token of a request as the log names it: tokens of two prefixes may have the same name. */
const bearerOf = ({ id, name, prefix }: Token) => ({ by: name, tokenId: id, prefix });

function problems(): Middleware {
  return {
    onError: (request) => {
      request.response = problemAnswer(request.error, request.event.requestId);
    },
  };
}

/** Answers a browser's preflight request, which carries no token. */
function preflight({ cors }: ApiParts): Middleware {
  return { before: ({ event: { incoming } }) => cors?.preflight(incoming) ?? undefined };
}

/** Answers `/health`, the only path without a token. */
function healthProbe(operations: Operations): Middleware {
  return {
    before: async ({ event: { incoming } }) => {
      if (incoming.path !== "/health" || incoming.method !== "GET") return undefined;
      await operations.health();
      return toHttp({ status: 200, body: { status: "ok" } });
    },
  };
}

function known({ authenticate, admit, noteUse, log }: ApiParts): Middleware {
  const settled = async ({ event: { beside } }: middy.Request<Exchange, HttpResponse>) => beside;
  return {
    before: async ({ event: exchange }) => {
      const { token, secret } = await authenticate(exchange.incoming);
      exchange.token = token;
      exchange.secret = secret;
      exchange.charge = await admit(token);
      if (token.isUseNoted) return;
      exchange.beside = noteUse(token).catch((error: unknown) => {
        log.warn("token.use-not-noted", { token: token.name, tokenId: token.id, error: errorText(error) });
      });
    },
    after: settled,
    onError: settled,
  };
}

/** A path as the log writes it, because a path may hold any characters, including line breaks. */
function loggable(path: string): string {
  return encodeURI(path.slice(0, 300).toWellFormed());
}
