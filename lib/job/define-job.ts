import type * as z from "zod";
import type { Log } from "../log/log.ts";

/** What a handler is told of its job: the same facts as every other target. */
export interface HandlerJob<Payload> {
  id: string;
  key: string;
  scheduleId: string;
  group: string | null;
  occurrence: Date;
  dueAt: Date;
  /** 1 at the first try. */
  attempt: number;
  payload: Payload;
}

export interface HandlerContext {
  /** Aborts when the attempt's time is up; a handler that goes on anyway is no longer waited for. */
  signal: AbortSignal;
  log: Log;
}

export interface JobHandler {
  name: string;
  /** Checks the payload and runs; a rejection is a failed attempt. */
  run(job: HandlerJob<unknown>, context: HandlerContext): Promise<void>;
}

export interface JobDefinition<Payload> {
  /** As schedules name it: `{ "target": { "handler": name } }`. */
  name: string;
  payload: z.ZodType<Payload>;
  run(job: HandlerJob<Payload>, context: HandlerContext): Promise<void>;
}

/** The payload of a job is not what its handler takes: trying again cannot help. */
export class UnfitPayload extends Error {
  override readonly name = "UnfitPayload";
}

/** Defines a handler: one file in functions/jobs/ each. */
export function defineJob<Payload>({ name, payload, run }: JobDefinition<Payload>): JobHandler {
  return {
    name,
    run: async (job, context) => {
      const read = payload.safeParse(job.payload);
      if (!read.success) {
        const faults = read.error.issues.map(
          ({ path, message }) => `${path.join(".") || "payload"}: ${message}`,
        );
        throw new UnfitPayload(`The payload does not fit the handler ${name}: ${faults.join("; ")}`);
      }
      await run({ ...job, payload: read.data }, context);
    },
  };
}
