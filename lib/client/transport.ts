import { backoffMs, retryAfterMaxMs, retryAfterMs } from "./backoff.ts";
import { refuseUnfitPath } from "./names.ts";
import { CarillonProblem, CarillonUnreachable } from "./problem.ts";
import { problemOf } from "./read-problem.ts";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, its retries and their waits. */
  signal?: AbortSignal | undefined;
  /** Milliseconds that each try may take; those of the client if left out. */
  timeout?: number | undefined;
}

/** What every call takes that changes something. */
export interface WriteOptions extends CallOptions {
  /**
   * Made for each call if left out. Give one of your own to repeat a call safely after your own process has died. Null sends none: the
   * server has less to write down then, and a try whose answer is lost is not repeated.
   */
  idempotencyKey?: string | null | undefined;
}

/** For writes that could undo what somebody else has written. */
export interface EditOptions extends WriteOptions {
  /** Only if the version is still this one; 412 otherwise. */
  ifMatch?: number | "*" | undefined;
}

export interface PutOptions extends EditOptions {
  /** Only if there is none yet; 412 otherwise. */
  ifNoneMatch?: "*" | undefined;
}

export interface Request {
  method: "GET" | "PUT" | "POST" | "PATCH" | "DELETE";
  /** What stands between slashes, not yet encoded. */
  path: readonly string[];
  query?: object | undefined;
  body?: unknown;
  /** A POST that changes nothing needs no key to be repeated. */
  changes?: boolean;
  options?: PutOptions | undefined;
}

/** A try that has failed and is followed by another one. */
export interface Retrying {
  /** 1 for the first one after the first try. */
  retry: number;
  /** It comes after so many milliseconds. */
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
  /** As its ETag has it, for `ifMatch`; undefined where there is none. */
  version?: number;
}

/** Sends a request until it is answered for good. The body of the answer is what the contract says of this request. */
export type Send = <Body>(request: Request) => Promise<Answered<Body>>;

export function makeSend(parts: TransportParts): Send {
  const base = readUrl(parts.url);
  return async <Body>(request: Request): Promise<Answered<Body>> => {
    refuseUnfitPath(request.path);
    const url = base + pathOf(request);
    const key = keyFor(request, parts);
    const signal = request.options?.signal;
    for (let retry = 0; ; retry++) {
      signal?.throwIfAborted();
      const tried = await attempt<Body>(parts, request, url, key);
      if ("answer" in tried) return tried.answer;
      const waitMs = retry < parts.retries ? waitBefore(tried.error, retry, parts.random) : null;
      if (waitMs === null || !isRepeatable(request, key, tried.error)) throw tried.error;
      parts.onRetry?.({ retry: retry + 1, waitMs, error: tried.error });
      await parts.pause(waitMs, signal);
    }
  };
}

/** Each try with a key is the same request to the server: what was done is not done twice. */
function keyFor(request: Request, parts: TransportParts): string | undefined {
  const own = request.options?.idempotencyKey;
  if (own === null || !isWrite(request)) return undefined;
  return own ?? parts.newKey();
}

function isWrite({ method, changes = method !== "GET" }: Request): boolean {
  return changes;
}

/** Without a key it is known of a refusal alone that nothing was done. */
function isRepeatable(request: Request, key: string | undefined, error: Error): boolean {
  return key !== undefined || !isWrite(request) || (error instanceof CarillonProblem && error.status === 429);
}

/** Null where trying again would not help. */
function waitBefore(error: unknown, retry: number, random: () => number): number | null {
  const byBackoff = backoffMs(retry, random);
  if (error instanceof CarillonUnreachable) return byBackoff;
  if (!(error instanceof CarillonProblem)) return null;
  const { status, retryAfterMs: asked } = error;
  // A conflict that passes is that of a try whose answer was lost and that still runs.
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
    const detail = `The request was sent on to ${response.url}; give the client the address that answers.`;
    return { error: new CarillonProblem({ ...elsewhere, detail }) };
  }
  if (!response.ok) return { error: new CarillonProblem(problemOf(response, text), retryAfter) };
  const [, version] = /^"(\d{1,9})"$/.exec(response.headers.get("etag") ?? "") ?? [];
  const head = { status: response.status, ...(version === undefined ? {} : { version: Number(version) }) };
  // What a success holds is the contract's word; a test compares both.
  if (text === "") return { answer: { ...head, body: undefined as Body } };
  try {
    return { answer: { ...head, body: JSON.parse(text) as Body } };
  } catch {
    const detail = `What answers at ${response.url} is not Carillon: its answer is not JSON.`;
    return { error: new CarillonProblem({ ...elsewhere, detail }) };
  }
}

const elsewhere = { type: "about:blank", title: "Something else has answered", status: 0 };

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

/** Runtimes hide the reason in the cause. */
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
      `\`url\` takes an address such as https://api.example.com, is ${JSON.stringify(text)}`,
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

/** What keys are often written with stays readable in logs. */
function encoded(segment: string): string {
  return encodeURIComponent(segment).replaceAll("%3A", ":").replaceAll("%40", "@");
}
