import { isOrigin, originForm } from "../../config/cors-origins.ts";
import type { Environment } from "../../config/environment.ts";
import { type HttpResponse, toHttp } from "./answer.ts";
import type { Incoming } from "./incoming.ts";

/** Answers to browsers, so that pages of other origins may call the API. */
export interface Cors {
  /** The answer to a preflight request; null where the request is not one. */
  preflight(incoming: Incoming): HttpResponse | null;
  /** Adds the CORS headers to an answer. */
  shown(incoming: Incoming, answer: HttpResponse): HttpResponse;
}

const methods = "GET, PUT, POST, PATCH, DELETE";

/**
 * The headers of requests to the API, of requests signed for IAM, and of API Gateway's usage plans.
 */
const requestHeaders = [
  "authorization",
  "content-type",
  "if-match",
  "if-none-match",
  "idempotency-key",
  "x-amz-content-sha256",
  "x-amz-date",
  "x-amz-security-token",
  "x-api-key",
].join(", ");

/** Response headers that pages may read beyond those that CORS always allows. */
const answerHeaders = [
  "allow",
  "carillon-cost",
  "etag",
  "idempotent-replayed",
  "location",
  "request-id",
  "retry-after",
  "www-authenticate",
].join(", ");

/** How long browsers may keep a preflight answer, in seconds; all of them accept two hours. */
const keptSeconds = "7200";

/**
 * Reads the comma-separated origins in `API_CORS_ORIGINS`. Null if the setting is empty: then only
 * pages of the API's own origin may call it.
 */
export function corsFrom(env: Environment): Cors | null {
  const text = env["API_CORS_ORIGINS"];
  if (text === undefined || text === "") return null;
  const origins = text.split(",");
  const wrong = origins.find((origin) => !isOrigin(origin));
  if (wrong !== undefined)
    throw new Error(
      `The environment variable API_CORS_ORIGINS holds ${JSON.stringify(wrong)}; ${originForm}.`,
    );
  return corsFor(new Set(origins));
}

function corsFor(origins: ReadonlySet<string>): Cors {
  // Cookies are not allowed, because Carillon has none: a page sends its token itself.
  const allowed = ({ headers: { origin } }: Incoming): Record<string, string> =>
    origin !== undefined && origins.has(origin) ? { "access-control-allow-origin": origin } : {};
  return {
    preflight: (incoming) => {
      const { method, headers } = incoming;
      const isAsked =
        headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined;
      if (method !== "OPTIONS" || !isAsked) return null;
      const isAllowed = "access-control-allow-origin" in allowed(incoming);
      return toHttp({
        status: 204,
        headers: isAllowed
          ? {
              "access-control-allow-methods": methods,
              "access-control-allow-headers": requestHeaders,
              "access-control-max-age": keptSeconds,
            }
          : {},
      });
    },
    shown: (incoming, answer) => {
      const own = allowed(incoming);
      return {
        ...answer,
        headers: {
          ...answer.headers,
          // Also for refused origins, so that a cache does not serve the answer for one origin to
          // another.
          vary: "origin",
          ...own,
          ...("access-control-allow-origin" in own ? { "access-control-expose-headers": answerHeaders } : {}),
        },
      };
    },
  };
}
