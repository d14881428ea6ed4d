import type { InstantText } from "./json.ts";
import type { PauseParams, ResumeParams, ScheduleFilter, SchedulePatch } from "./schedule.ts";
import type { CallOptions, Request, Send, WriteOptions } from "./transport.ts";

/** The schedules of a bulk action. An empty filter needs `all`. */
export interface Selection {
  filter?: ScheduleFilter | undefined;
  /** With an empty filter: every schedule that the token reaches. */
  all?: true | undefined;
}

/** A bulk action: what to do, with which schedules, and why. */
export type BulkAction = Selection & { reason?: string | null | undefined } & (
    | ({ verb: "pause" } & Omit<PauseParams, "reason">)
    | ({ verb: "resume" } & ResumeParams)
    | { verb: "delete" }
    | { verb: "patch"; patch: SchedulePatch }
  );

/** The result of one call of a bulk action; its cursor continues it. */
export interface BulkDone {
  done: number;
  /** Schedules that were already as requested, or no longer match. */
  unchanged: number;
  /** Schedules left unchanged: refused, locked, or not writable. */
  failed: number;
  /** The first of them. */
  failures: { key: string; status: number; detail: string }[];
  cursor?: string;
}

/** What a bulk action would change. */
export interface BulkPreview {
  dryRun: true;
  count: number;
  /** Counting stopped at its limit. */
  more: boolean;
  /** The first schedules; for a patch with their next occurrences before and after. */
  samples: {
    key: string;
    changes?: { before: InstantText[]; after: InstantText[] };
    refused?: string;
  }[];
}

export interface BulkOptions extends WriteOptions {
  cursor?: string | undefined;
}

export async function sendBulk(
  send: Send,
  { verb, ...body }: BulkAction,
  { cursor, ...options }: BulkOptions,
): Promise<BulkDone> {
  const request: Request = { method: "POST", path: pathOf(verb), query: { cursor }, body, options };
  return (await send<BulkDone>(request)).body;
}

export async function sendBulkPreview(
  send: Send,
  { verb, ...body }: BulkAction,
  options: CallOptions | undefined,
): Promise<BulkPreview> {
  const request: Request = {
    method: "POST",
    path: pathOf(verb),
    body: { ...body, dryRun: true },
    changes: false,
    options,
  };
  return (await send<BulkPreview>(request)).body;
}

const pathOf = (verb: BulkAction["verb"]) => ["v1", `schedules:${verb}`];
