import { createHash } from "node:crypto";
import type { Sql } from "../../db/connect.ts";
import {
  type Claim,
  type Claimed,
  claimRequest,
  keepAnswer,
  letGo,
} from "../../idempotency/kept-requests.ts";
import { remembering } from "../../idempotency/remembered-sql.ts";
import {
  Overtaken,
  type RequestMemory,
  requestMemory,
  Unreadable,
} from "../../idempotency/request-memory.ts";
import { type Seal, sealOf } from "../../idempotency/seal.ts";
import { PassingConflict, Refusal } from "../../refusal.ts";
import type { Token } from "../../token/token.ts";
import type { HttpResponse } from "./answer.ts";
import { costHeader } from "./cost.ts";
import type { Incoming } from "./incoming.ts";
import { Problem } from "./problem.ts";
import { problemAnswer } from "./problem-answer.ts";

const header = "idempotency-key";
const writes: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"]);

/**
 * Whether an answer is stored: its status says that the request was carried out or is impossible.
 * A 400 is not stored: the caller may correct the request and send it again with the same key.
 */
function isKept(status: number): boolean {
  return (status >= 200 && status < 300) || [404, 409, 412, 422].includes(status);
}

export interface KeyedRequest {
  incoming: Incoming;
  requestId: string;
  token: Pick<Token, "id">;
  /** The secret with which the stored answer is encrypted. */
  secret: string;
}

/** Answers a request; one with an Idempotency-Key is carried out once, however often it is sent. */
export type AnswerOnce = (
  request: KeyedRequest,
  answer: () => Promise<HttpResponse>,
) => Promise<HttpResponse>;

/**
 * Takes the `Sql` of the operations. It records each transaction of a request together with the
 * request's stored answer.
 */
export function makeAnswerOnce(sql: Sql): AnswerOnce {
  return (request, answer) => answerOnce(sql, request, answer);
}

async function answerOnce(
  sql: Sql,
  request: KeyedRequest,
  answer: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  const key = readIdempotencyKey(request.incoming);
  if (key === null) return answer();
  const name = { tokenId: request.token.id, key };
  const seal = sealOf(request.secret);
  const claimed = await claimRequest(sql, name, fingerprintOf(request.incoming));
  switch (claimed.state) {
    case "different":
      throw new Problem(
        "impossible",
        `The Idempotency-Key ${JSON.stringify(key)} was sent with another request; each request needs its own key.`,
      );
    case "running":
      throw stillRunning(claimed.seconds);
    case "answered":
      return replayed(seal, claimed.answer);
    case "claimed":
      return carriedOut(sql, { ...claimed, seal, requestId: request.requestId }, answer);
  }
}

function readIdempotencyKey({ headers, method }: Incoming): string | null {
  const key = headers[header];
  if (key === undefined || !writes.has(method)) return null;
  if (/^[\x20-\x7e]{1,255}$/.test(key)) return key;
  throw new Refusal("invalid", "A header is not understood.", [
    { path: "Idempotency-Key", message: "takes 1 to 255 printable ASCII characters" },
  ]);
}

/** Identifies a request: a hash of every part of it that determines its effect. */
function fingerprintOf({ method, path, query, headers, body = "", isBase64Encoded }: Incoming): Buffer {
  const asked = [method, path, query, headers["if-match"] ?? null, headers["if-none-match"] ?? null];
  return createHash("sha256")
    .update(`${JSON.stringify(asked)}\n`)
    .update(Buffer.from(body, isBase64Encoded ? "base64" : "utf8"))
    .digest();
}

interface Work extends Extract<Claimed, { state: "claimed" }> {
  seal: Seal;
  requestId: string;
}

async function carriedOut(
  sql: Sql,
  { claim, before, seal, requestId }: Work,
  answer: () => Promise<HttpResponse>,
): Promise<HttpResponse> {
  try {
    const memory = requestMemory(claim, seal, before);
    const response = await remembering(memory, () => answered(answer, requestId));
    if (memory.isOpen()) await letGoSafely(sql, claim);
    else await keep(sql, { claim, seal, memory }, response);
    return response;
  } catch (error) {
    if (error instanceof Overtaken) throw stillRunning(1);
    await letGoSafely(sql, claim);
    throw error instanceof Unreadable ? unreadable() : error;
  }
}

/**
 * A claim that cannot be released ends by itself, so its failure is ignored and the caller gets the
 * outcome of the request.
 */
function letGoSafely(sql: Sql, claim: Claim): Promise<void> {
  return letGo(sql, claim).catch(() => {});
}

/**
 * Returns refusals that are stored as answers. Other errors are thrown, and so is a conflict that a
 * retry may resolve.
 */
async function answered(answer: () => Promise<HttpResponse>, requestId: string): Promise<HttpResponse> {
  try {
    return await answer();
  } catch (error) {
    const response = problemAnswer(error, requestId);
    if (!(error instanceof PassingConflict) && isKept(response.statusCode)) return response;
    throw error;
  }
}

async function keep(
  sql: Sql,
  { claim, seal, memory }: { claim: Claim; seal: Seal; memory: RequestMemory },
  response: HttpResponse,
): Promise<void> {
  const kept = {
    answer: seal.close(Buffer.from(JSON.stringify(response))),
    steps: memory.steps(),
  };
  if (!(await keepAnswer(sql, claim, kept))) throw new Overtaken();
}

function replayed(seal: Seal, sealed: Buffer): HttpResponse {
  const bytes = seal.open(sealed);
  if (bytes === null) throw unreadable();
  // The same code wrote these bytes, and the seal shows that they are unchanged.
  const response: HttpResponse = JSON.parse(bytes.toString());
  const cost = costHeader in response.headers ? { [costHeader]: "1" } : {};
  return { ...response, headers: { ...response.headers, ...cost, "idempotent-replayed": "true" } };
}

function stillRunning(seconds: number): Problem {
  return new Problem("conflict", "A request with this Idempotency-Key is under way; try again.", {
    "retry-after": String(seconds),
  });
}

function unreadable(): Problem {
  return new Problem(
    "conflict",
    "The request was sent before with this Idempotency-Key, but with another secret of its token or another prefix of keys; its stored answer cannot be read with yours.",
  );
}
