import * as z from "zod";
import { defineJob } from "../../../../lib/job/define-job.ts";

let ran = (_: number) => {};

/** Sets the listener for jobs that run in this process. */
export function onRun(told: (job: number) => void): void {
  ran = told;
}

export const handlers = [
  defineJob({
    name: "noop",
    payload: z.strictObject({ n: z.int() }),
    run: async (job) => ran(job.payload.n),
  }),
];
