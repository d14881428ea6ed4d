import { isOrigin, originForm } from "../../config/cors-origins.ts";
import type { Environment } from "../../config/environment.ts";
import { type HttpResponse, toHttp } from "./answer.ts";
import type { Incoming } from "./incoming.ts";

/** Lets pages of other origins call, as browsers ask for it. */
export interface Cors {
  /** The answer to a browser that asks before it sends; null where this is no such question. */
  preflight(incoming: Incoming): HttpResponse | null;
  /** An answer as the page that asked may read it. */
  shown(incoming: Incoming, answer: HttpResponse): HttpResponse;
}

const methods = "GET, PUT, POST, PATCH, DELETE";

/** What requests to the API carry, and what those carry that are signed or counted by API Gateway. */
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

/** Beside those that every page may read. */
const answerHeaders = [
  "allow",
  "etag",
  "idempotent-replayed",
  "location",
  "retry-after",
  "www-authenticate",
].join(", ");

/** The longest that all browsers keep such an answer, in seconds. */
const keptSeconds = "7200";

/** From the origins in `API_CORS_ORIGINS`, with commas between them; null where there are none: then no page of another origin may call. */
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
  // Without credentials: a browser has none of its own for Carillon, and a page sends its token itself.
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
          // Also where it is not allowed: what was answered to one origin must not be shown to another.
          vary: "origin",
          ...own,
          ...("access-control-allow-origin" in own ? { "access-control-expose-headers": answerHeaders } : {}),
        },
      };
    },
  };
}
