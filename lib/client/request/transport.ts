import { backoffMs, retryAfterMaxMs, retryAfterMs } from "./backoff.ts";
import { callSite, seenFrom } from "./call-site.ts";
import { refuseUnfitPath } from "./names.ts";
import { CarillonProblem, CarillonUnreachable } from "./problem.ts";
import { problemOf } from "./read-problem.ts";

/** Options of every call. */
export interface CallOptions {
  /** Stops the call, including its retries and their waits. */
  signal?: AbortSignal | undefined;
  /** Milliseconds for each attempt; default: the client's timeout. */
  timeout?: number | undefined;
}

/** Options of every call that changes something. */
export interface WriteOptions extends CallOptions {
  /**
   * Default: a new key for each call. Give your own to repeat a call safely after your process
   * died. Null sends none: the server then stores less, and an attempt whose answer is lost is not
   * retried.
   */
  idempotencyKey?: string | null | undefined;
}

/** Options of writes that could overwrite an edit of another caller. */
export interface EditOptions extends WriteOptions {
  /** The edit is made only if this is still the version; otherwise the answer is 412. */
  ifMatch?: number | "*" | undefined;
}

export interface PutOptions extends EditOptions {
  /** The put is done only if nothing has this name yet; otherwise the answer is 412. */
  ifNoneMatch?: "*" | undefined;
}

export interface Request {
  method: "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
  /** The segments of the path, not yet encoded. */
  path: readonly string[];
  query?: object | undefined;
  body?: unknown;
  /** False for a POST that may be repeated without a key: nearly always one that changes nothing. */
  changes?: boolean;
  options?: PutOptions | undefined;
}

/** A failed attempt that will be retried. */
export interface Retrying {
  /** The number of the retry, from 1. */
  retry: number;
  /** Milliseconds until the retry. */
  waitMs: number;
  error: CarillonProblem | CarillonUnreachable;
}

export interface TransportParts {
  url: string;
  token: string | (() => string | Promise<string>);
  fetch: typeof globalThis.fetch;
  timeout: number;
  retries: number;
  headers: Readonly<Record<string, string>>;
  random: () => number;
  now: () => number;
  pause: (ms: number, signal?: AbortSignal) => Promise<void>;
  newKey: () => string;
  onRetry?: ((retrying: Retrying) => void) | undefined;
}

export interface Answered<Body> {
  status: number;
  body: Body;
  /** The version in the ETag, for `ifMatch`; undefined without one. */
  version?: number;
}

/** Sends a request, with retries. The type of the body follows the API's contract. */
export type Send = <Body>(request: Request) => Promise<Answered<Body>>;

export function makeSend(parts: TransportParts): Send {
  const base = readUrl(parts.url);
  return async <Body>(request: Request): Promise<Answered<Body>> => {
    const site = callSite();
    refuseUnfitPath(request.path, site);
    const url = base + pathOf(request);
    const key = keyFor(request, parts);
    const signal = request.options?.signal;
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      const tried = await attempt<Body>(parts, request, url, key);
      if ("answer" in tried) return tried.answer;
      const error = seenFrom(site, tried.error);
      const waitMs = retry < parts.retries ? waitBefore(error, retry, parts.random) : null;
      if (waitMs === null || !isRepeatable(request, key, error)) throw error;
      parts.onRetry?.({ retry: retry + 1, waitMs, error });
      await parts.pause(waitMs, signal);
    }
  };
}

/** All attempts of a call have the same key, so the server carries it out only once. */
function keyFor(request: Request, parts: TransportParts): string | undefined {
  const own = request.options?.idempotencyKey;
  if (own === null || !isWrite(request)) return undefined;
  return own ?? parts.newKey();
}

function isWrite({ method, changes = method !== "GET" }: Request): boolean {
  return changes;
}

/** Whether a retry is safe. Without a key, only a 429 shows that a write was not carried out. */
function isRepeatable(request: Request, key: string | undefined, error: Error): boolean {
  return key !== undefined || !isWrite(request) || (error instanceof CarillonProblem && error.status === 429);
}

/** Milliseconds to wait before a retry; null if a retry cannot help. */
function waitBefore(error: unknown, retry: number, random: () => number): number | null {
  const byBackoff = backoffMs(retry, random);
  if (error instanceof CarillonUnreachable) return byBackoff;
  if (!(error instanceof CarillonProblem)) return null;
  const { status, retryAfterMs: asked } = error;
  // A conflict with a Retry-After comes from an earlier attempt of the same call that is still
  // running.
  const passes = [429, 502, 503, 504].includes(status) || (status === 409 && asked !== undefined);
  if (!passes || (asked ?? 0) > retryAfterMaxMs) return null;
  return Math.max(asked ?? 0, byBackoff);
}

type Tried<Body> = { answer: Answered<Body> } | { error: CarillonProblem | CarillonUnreachable };

async function attempt<Body>(
  parts: TransportParts,
  request: Request,
  url: string,
  idempotencyKey: string | undefined,
): Promise<Tried<Body>> {
  const outer = request.options?.signal;
  const over = AbortSignal.timeout(request.options?.timeout ?? parts.timeout);
  const init: RequestInit = {
    method: request.method,
    headers: await headersOf(parts, request, idempotencyKey),
    signal: outer === undefined ? over : AbortSignal.any([outer, over]),
    ...(request.body === undefined ? {} : { body: JSON.stringify(request.body) }),
  };
  let response: Response;
  let text: string;
  try {
    response = await parts.fetch(url, init);
    text = await response.text();
  } catch (cause) {
    outer?.throwIfAborted();
    return { error: new CarillonUnreachable(url, whyOf(cause, over.aborted), { cause, idempotencyKey }) };
  }
  return read<Body>(response, text, retryAfterMs(response.headers.get("retry-after"), parts.now()));
}

function read<Body>(response: Response, text: string, retryAfter: number | undefined): Tried<Body> {
  if (response.redirected) {
    const detail = `The request was redirected to ${response.url}; give the client that address.`;
    return { error: new CarillonProblem({ ...elsewhere, detail }) };
  }
  if (!response.ok) return { error: new CarillonProblem(problemOf(response, text), retryAfter) };
  const [, version] = /^"(\d{1,9})"$/.exec(response.headers.get("etag") ?? "") ?? [];
  const head = { status: response.status, ...(version === undefined ? {} : { version: Number(version) }) };
  // The type is asserted, because the contract fixes it; a test compares client and contract.
  if (text === "") return { answer: { ...head, body: undefined as Body } };
  try {
    return { answer: { ...head, body: JSON.parse(text) as Body } };
  } catch {
    const detail = `The server at ${response.url} is not Carillon: its answer is not JSON.`;
    return { error: new CarillonProblem({ ...elsewhere, detail }) };
  }
}

const elsewhere = { type: "about:blank", title: "Another server answered", status: 0 };

async function headersOf(
  { token, headers }: TransportParts,
  { body, options = {} }: Request,
  idempotencyKey: string | undefined,
): Promise<Record<string, string>> {
  const { ifMatch, ifNoneMatch } = options;
  return {
    accept: "application/json, application/problem+json",
    ...headers,
    authorization: `Bearer ${typeof token === "string" ? token : await token()}`,
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(ifMatch === undefined ? {} : { "if-match": ifMatch === "*" ? "*" : `"${ifMatch}"` }),
    ...(ifNoneMatch === undefined ? {} : { "if-none-match": ifNoneMatch }),
    ...(idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }),
  };
}

/** Why a request had no answer. Runtimes put the reason into the error's cause. */
function whyOf(error: unknown, isOver: boolean): string {
  if (isOver) return "it took too long";
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  return cause.message === "" && "code" in cause ? String(cause.code) : cause.message;
}

function readUrl(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : null;
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new TypeError(
      `\`url\` takes an address such as https://api.example.com, not ${JSON.stringify(text)}`,
    );
  if (url.username !== "" || url.search !== "" || url.hash !== "")
    throw new TypeError("`url` takes an address without a user, a query and a `#`");
  return url.href.replace(/\/+$/, "");
}

function pathOf({ path, query = {} }: Request): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(
    given.map(([name, value]): [string, string] => [
      name,
      value instanceof Date ? value.toISOString() : String(value),
    ]),
  );
  const segments = path.map((segment) => `/${encoded(segment)}`).join("");
  return given.length === 0 ? segments : `${segments}?${search}`;
}

/** Characters that are common in keys stay readable in logs. */
function encoded(segment: string): string {
  return encodeURIComponent(segment).replaceAll("%3A", ":").replaceAll("%40", "@");
}
