import type { EnqueueBody } from "./job.ts";
import { callSite, seenFrom } from "./request/call-site.ts";
import type { ProblemDocument } from "./request/problem.ts";
import type { Request, Send, WriteOptions } from "./request/transport.ts";
import type { PauseParams, ResumeParams, ScheduleBody, SchedulePatch } from "./schedule.ts";

/** One edit of one schedule, optionally with the version that it must have. */
export type Operation = { ifMatch?: number | undefined } & (
  | { put: ScheduleBody & { key: string }; ifNoneMatch?: boolean | undefined }
  | { patch: SchedulePatch & { key: string } }
  | { delete: string | { key: string } }
  | { pause: string | (PauseParams & { key: string }) }
  | { resume: string | (ResumeParams & { key: string }) }
  | { job: Omit<EnqueueBody, "ifExists"> }
);

/**
 * The result of one operation: the status that its own route would have, and the reason of a
 * refusal. With 500 or 503 Carillon failed on the operation or did not try it: it changed nothing
 * and may be sent again.
 */
export interface OperationResult {
  status: number;
  /** Null where the operation has no valid key. */
  key: string | null;
  id?: string;
  version?: number;
  /** With 503: the number of seconds to wait before a retry. */
  retryAfter?: number;
  error?: ProblemDocument;
}

export interface BatchOptions extends WriteOptions {
  /** If one operation is refused, none is done. Allows at most 1,000 operations. */
  atomic?: boolean | undefined;
  /** Called after each call of a batch that needs several. */
  onProgress?: ((done: number, of: number) => void) | undefined;
}

/** The most operations of one call. */
export const operationsMax = 1_000;
const bytesMax = 4_500_000;

/**
 * A batch of several calls stopped after some of them. The operations with a result in `results`
 * are done, the others are not.
 */
export class BatchInterrupted extends Error {
  override readonly name: string = "BatchInterrupted";
  readonly results: readonly OperationResult[];

  constructor(results: readonly OperationResult[], of: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`The batch stopped after ${results.length} of ${of} operations: ${why}`, { cause });
    this.results = results;
  }
}

/** Sends the operations in their order, up to 1,000 per call. The results are in the same order. */
export async function sendBatch(
  send: Send,
  operations: readonly Operation[],
  { atomic, onProgress, ...options }: BatchOptions = {},
): Promise<OperationResult[]> {
  const site = callSite();
  const calls = callsOf(operations);
  if (atomic === true && calls.length > 1) {
    const sentence = `An atomic batch has at most ${operationsMax} operations and ${bytesMax} bytes, because each call is its own transaction.`;
    throw seenFrom(site, new RangeError(sentence));
  }
  const results: OperationResult[] = [];
  for (const [index, call] of calls.entries()) {
    const body = atomic === undefined ? { operations: call } : { operations: call, atomic };
    const request: Request = { method: "POST", path: ["v1", "schedules:batch"], body };
    try {
      request.options = { ...options, ...keyOfCall(options.idempotencyKey, index) };
      results.push(...(await send<{ results: OperationResult[] }>(request)).body.results);
    } catch (error) {
      if (results.length === 0) throw error;
      throw seenFrom(site, new BatchInterrupted(results, operations.length, error));
    }
    onProgress?.(results.length, operations.length);
  }
  return results;
}

/**
 * A key given by the caller covers the whole batch; each further call has a key derived from it.
 */
function keyOfCall(key: string | null | undefined, index: number): { idempotencyKey?: string } {
  return typeof key !== "string" || index === 0 ? {} : { idempotencyKey: `${key}.${index}` };
}

function callsOf(operations: readonly Operation[]): Operation[][] {
  const calls: Operation[][] = [];
  let call: Operation[] = [];
  let bytes = 0;
  for (const operation of operations) {
    const more = new TextEncoder().encode(JSON.stringify(operation)).length + 1;
    if (call.length === operationsMax || (call.length > 0 && bytes + more > bytesMax)) {
      calls.push(call);
      call = [];
      bytes = 0;
    }
    call.push(operation);
    bytes += more;
  }
  if (call.length > 0) calls.push(call);
  return calls;
}
