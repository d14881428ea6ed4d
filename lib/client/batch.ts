import type { EnqueueBody } from "./job.ts";
import type { ProblemDocument } from "./problem.ts";
import type { PauseParams, ResumeParams, ScheduleBody, SchedulePatch } from "./schedule.ts";
import type { Request, Send, WriteOptions } from "./transport.ts";

/** One edit of one schedule; beside it, the version that it must have. */
export type Operation = { ifMatch?: number | undefined } & (
  | { put: ScheduleBody & { key: string }; ifNoneMatch?: boolean | undefined }
  | { patch: SchedulePatch & { key: string } }
  | { delete: string | { key: string } }
  | { pause: string | (PauseParams & { key: string }) }
  | { resume: string | (ResumeParams & { key: string }) }
  | { job: Omit<EnqueueBody, "ifExists"> }
);

/**
 * The result of one operation: the status that its own route would answer with, and the reason of a refusal. With 500 or 503 Carillon
 * failed on it or had no time for it: nothing of it is done, and it may be sent again.
 */
export interface OperationResult {
  status: number;
  /** Null where not even the key was understood. */
  key: string | null;
  id?: string;
  version?: number;
  /** With a 503: the number of seconds after which it may be sent again. */
  retryAfter?: number;
  error?: ProblemDocument;
}

export interface BatchOptions extends WriteOptions {
  /** Nothing is done where one is refused; at most 1,000 operations then. */
  atomic?: boolean | undefined;
  /** Told after each call, of a batch that takes several. */
  onProgress?: ((done: number, of: number) => void) | undefined;
}

/** What one call takes. */
export const operationsMax = 1_000;
const bytesMax = 4_500_000;

/** A batch of several calls has stopped after some of them: what is in `results` is done, and the rest is not. */
export class BatchInterrupted extends Error {
  override readonly name: string = "BatchInterrupted";
  readonly results: readonly OperationResult[];

  constructor(results: readonly OperationResult[], of: number, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    super(`The batch stopped after ${results.length} of ${of} operations: ${why}`, { cause });
    this.results = results;
  }
}

/** Does them in their order, 1,000 a call, and answers with a result for each in the same order. */
export async function sendBatch(
  send: Send,
  operations: readonly Operation[],
  { atomic, onProgress, ...options }: BatchOptions = {},
): Promise<OperationResult[]> {
  const calls = callsOf(operations);
  if (atomic === true && calls.length > 1)
    throw new RangeError(
      `What is atomic takes at most ${operationsMax} operations and ${bytesMax} bytes: what is more goes in several calls, each a transaction of its own.`,
    );
  const results: OperationResult[] = [];
  for (const [index, call] of calls.entries()) {
    const body = atomic === undefined ? { operations: call } : { operations: call, atomic };
    const request: Request = { method: "POST", path: ["v1", "schedules:batch"], body };
    try {
      request.options = { ...options, ...keyOfCall(options.idempotencyKey, index) };
      results.push(...(await send<{ results: OperationResult[] }>(request)).body.results);
    } catch (error) {
      if (results.length === 0) throw error;
      throw new BatchInterrupted(results, operations.length, error);
    }
    onProgress?.(results.length, operations.length);
  }
  return results;
}

/** A key of the caller's own is that of the whole batch; each call has one made from it. */
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
