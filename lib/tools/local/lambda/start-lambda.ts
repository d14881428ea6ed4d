import { type IncomingMessage, type ServerResponse, request as sendHttp } from "node:http";
import { buffer } from "node:stream/consumers";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { guarded } from "../callers.ts";
import { type LoopbackServer, listenOnLoopback, readBody } from "../http-server.ts";
import { ChainEnded, withTrace } from "./chain.ts";

/**
 * A function that runs in this process: it takes a parsed event and returns the function's result.
 */
export type InvokeLocal = (event: unknown) => Promise<unknown>;

export interface LambdaParts {
  /** 0 picks a free port. */
  port: number;
  /** By name. */
  functions: ReadonlyMap<string, InvokeLocal>;
  /** Another emulator, which runs all other functions. */
  elsewhere: string | undefined;
  log: Log;
}

/** The result of an invocation, as Lambda's own endpoint returns it. */
interface Answer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

const bodyBytesMax = 6 * 1024 * 1024;
const invocations = /^\/2015-03-31\/functions\/([^/]+)\/invocations$/;

/**
 * A Lambda endpoint for any Lambda client. It runs Carillon's own functions and forwards other
 * invocations.
 */
export function startLambda(parts: LambdaParts): Promise<LoopbackServer> {
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const { status, headers, body } = await answerTo(request, parts).catch((error: unknown) => {
      parts.log.error("local.invoke-failed", { error: errorText(error) });
      return fault(500, "ServiceException", "The local Lambda endpoint failed; its log says why.");
    });
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(body);
  };
  const callers = { hosts: [], origins: null };
  return listenOnLoopback(
    parts.port,
    guarded(callers, (request, response) => void answer(request, response)),
  );
}

async function answerTo(request: IncomingMessage, parts: LambdaParts): Promise<Answer> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const [, name] = invocations.exec(pathname) ?? [];
  if (request.method !== "POST" || name === undefined)
    return fault(404, "ResourceNotFoundException", "This endpoint only invokes functions.");
  // Only clients of Lambda sign their requests.
  if (!request.headers.authorization?.startsWith("AWS4-HMAC-SHA256"))
    return fault(403, "MissingAuthenticationTokenException", "Missing Authentication Token");
  const body = await readBody(request, bodyBytesMax);
  if (body === undefined)
    return fault(413, "RequestTooLargeException", `An event has at most ${bodyBytesMax} bytes.`);
  const invoke = parts.functions.get(decodeURIComponent(name));
  if (invoke !== undefined) {
    const trace = request.headers["x-amzn-trace-id"];
    return withTrace(typeof trace === "string" ? trace : undefined, () =>
      run(invoke, body, invocationType(request), parts.log),
    );
  }
  if (parts.elsewhere !== undefined) return passOn(parts.elsewhere, request, body);
  return fault(
    404,
    "ResourceNotFoundException",
    `The function ${decodeURIComponent(name)} is not run here. Start an emulator of Lambda, such as that of SAM or LocalStack, and set CARILLON_LAMBDA_URL to its URL.`,
  );
}

function invocationType({ headers }: IncomingMessage): string {
  return String(headers["x-amz-invocation-type"] ?? "RequestResponse");
}

async function run(invoke: InvokeLocal, body: Buffer, type: string, log: Log): Promise<Answer> {
  const event = json(body.toString("utf8"));
  if (event === undefined) return fault(400, "InvalidRequestContentException", "The event is not JSON.");
  if (type === "DryRun") return { status: 204 };
  const executed = { "x-amz-executed-version": "$LATEST" };
  if (type === "Event") {
    invoke(event).catch((error: unknown) => log.error("local.invoke-failed", { error: errorText(error) }));
    return { status: 202, headers: executed };
  }
  try {
    return { status: 200, headers: executed, body: JSON.stringify(await invoke(event)) };
  } catch (error) {
    if (error instanceof ChainEnded) return fault(400, "RecursiveInvocationException", error.message);
    return {
      status: 200,
      headers: { ...executed, "x-amz-function-error": "Unhandled" },
      body: thrown(error),
    };
  }
}

/** The error in the form of Lambda's runtime for Node. */
function thrown(error: unknown): string {
  if (!(error instanceof Error)) return JSON.stringify({ errorType: "Error", errorMessage: String(error) });
  const { name, message, stack = "" } = error;
  return JSON.stringify({ errorType: name, errorMessage: message, trace: stack.split("\n") });
}

/**
 * Forwards the request unchanged to the other emulator, and is aborted with the incoming request.
 */
async function passOn(elsewhere: string, request: IncomingMessage, body: Buffer): Promise<Answer> {
  const url = new URL(request.url ?? "/", elsewhere);
  const closed = new AbortController();
  const onClose = () => closed.abort();
  request.socket.once("close", onClose);
  try {
    const answer = await onward(url, request, body, closed.signal);
    const kept = Object.entries(answer.headers).filter(([name]) => name.startsWith("x-am"));
    return {
      status: answer.statusCode ?? 500,
      headers: Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
      body: (await buffer(answer)).toString("utf8"),
    };
  } catch (error) {
    return fault(
      502,
      "ServiceException",
      `No emulator of Lambda answered at ${url.origin}, which CARILLON_LAMBDA_URL names: ${String(error)}`,
    );
  } finally {
    request.socket.off("close", onClose);
  }
}

/**
 * Sends the request to the other emulator. `fetch` would wait for a response for at most five
 * minutes.
 */
function onward(
  url: URL,
  { headers }: IncomingMessage,
  body: Buffer,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { host: _host, connection: _connection, ...kept } = headers;
  return new Promise((resolve, reject) => {
    sendHttp(url, { method: "POST", headers: kept, signal })
      .once("response", resolve)
      .once("error", reject)
      .end(body);
  });
}

/**
 * The event in a request's text; undefined when the text is not JSON. Empty text is an empty event.
 */
function json(text: string): unknown {
  if (text === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function fault(status: number, type: string, message: string): Answer {
  return {
    status,
    headers: { "x-amzn-errortype": type },
    body: JSON.stringify({ Type: "User", Message: message }),
  };
}
