import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";

/** The callers whose requests a port of the local stack answers. */
export interface Callers {
  /** Names of this machine besides those of the loopback interface, in lower case. */
  hosts: readonly string[];
  /** The origins whose pages may call the port, besides its own. Null: it answers no page. */
  origins: readonly string[] | null;
}

const loopbackHosts = ["127.0.0.1", "localhost", "[::1]"];

export const hostForm =
  "it takes names or addresses of hosts such as host.docker.internal, without a scheme, a port or *";

export const isHost = (text: string): boolean => /^([\w.-]*\w|\[[\da-f:.]+\])$/i.test(text);

/**
 * Any page in a browser of this machine can send requests to its ports, and a site can let its own
 * name lead to 127.0.0.1 (DNS rebinding). The headers that name host and origin are those that no
 * page can set.
 */
export function guarded(callers: Callers, answer: RequestListener): RequestListener {
  return (request, response) => {
    const refusal = hostRefusal(request, callers) ?? pageRefusal(request, callers);
    if (refusal === null) answer(request, response);
    else answerFault(response, { status: 403, type: "ForbiddenException", message: refusal });
  };
}

/** An answer that clients of AWS and of Carillon word by its message. */
export function answerFault(
  response: ServerResponse,
  { status, type, message }: { status: number; type: string; message: string },
): void {
  const body = JSON.stringify({ __type: type, message });
  response.writeHead(status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "x-amzn-errortype": type,
    "x-content-type-options": "nosniff",
  });
  response.end(body);
}

function hostRefusal(request: IncomingMessage, { hosts }: Callers): string | null {
  const allowed = [...loopbackHosts, ...hosts];
  const given = [...(request.headersDistinct["host"] ?? []), ...hostOfTarget(request)];
  const advice = `This port answers requests to ${allowed.join(", ")}, with any port; CARILLON_HOSTS, or carillon dev --hosts, adds hosts.`;
  if (given.length === 0) return `The request names no host. ${advice}`;
  const refused = given.find((host) => !allowed.includes(nameOf(host)));
  return refused === undefined ? null : `The host ${quoted(refused)} is refused. ${advice}`;
}

/** A target in the absolute form (`GET http://host/path`) names a host of its own. */
function hostOfTarget({ url = "/" }: IncomingMessage): string[] {
  return url.startsWith("/") || url === "*" ? [] : [/^\w+:\/\/([^/?#]*)/.exec(url)?.[1] ?? url];
}

/** Without its port, and without the dot that ends an absolute name. */
function nameOf(host: string): string {
  return host.toLowerCase().replace(/:\d+$/, "").replace(/\.$/, "");
}

function pageRefusal(request: IncomingMessage, { origins }: Callers): string | null {
  const { origin } = request.headers;
  const advice =
    origins === null
      ? "This port answers programs, and no page."
      : `The stack's own page may call this port, and those of the origins in CARILLON_CORS_ORIGINS: ${origins.join(", ") || "none"}.`;
  if (origin !== undefined)
    return origins !== null && (origins.includes(origin) || isOwn(origin, request))
      ? null
      : `A page of the origin ${quoted(origin)} sent this request, which is refused. ${advice}`;
  const site = request.headers["sec-fetch-site"];
  return site === undefined || site === "none" || site === "same-origin" || isOpened(request)
    ? null
    : `A page of another origin sent this request (Sec-Fetch-Site: ${quoted(String(site))}), which is refused. ${advice}`;
}

/** The scheme is left out: in front of the stack may be a proxy that ends TLS. */
function isOwn(origin: string, { headers }: IncomingMessage): boolean {
  return origin.replace(/^https?:\/\//, "") === headers.host?.toLowerCase();
}

/** A link that opens in a tab: its site cannot read the answer. A frame is no tab. */
function isOpened({ method, headers }: IncomingMessage): boolean {
  return (
    (method === "GET" || method === "HEAD") &&
    headers["sec-fetch-mode"] === "navigate" &&
    headers["sec-fetch-dest"] === "document"
  );
}

const shownMax = 200;

const quoted = (text: string): string => JSON.stringify(text.slice(0, shownMax));
