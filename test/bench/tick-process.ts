import * as z from "zod";
import { connect } from "../../lib/db/connect.ts";
import { silentLog } from "../../lib/log/log.ts";
import { parcelQueueFrom } from "../../lib/parcel/parcel-queue-from.ts";
import { tick, tickDefaults } from "../../lib/tick/tick.ts";
import { restless } from "./restless.ts";

/**
 * A tick in a process of its own, like a Lambda environment. It has one lane, because the
 * measurement is of several ticks.
 */
export const askedTick = z.strictObject({
  share: z.int().min(0),
  of: z.int().min(1),
  batchMax: z.int().min(1),
});

export const doneTick = z.strictObject({
  jobs: z.int(),
  /** User and system CPU time of this process. */
  cpuMs: z.number(),
});

export const tickApplication = "bench-tick";

if (process.send !== undefined) serve(process.send.bind(process));

function serve(answer: (done: z.infer<typeof doneTick>) => unknown): void {
  const sql = connect(process.env, { max: 2, applicationName: tickApplication });
  const queue = { ...parcelQueueFrom(process.env, silentLog), timing: restless };
  const run = async (message: unknown) => {
    const { share, of, batchMax } = askedTick.parse(message);
    const before = process.cpuUsage();
    const settings = { ...tickDefaults, lanes: 1, batchMax, share: { share, of } };
    const { jobs } = await tick({ sql, queue, log: silentLog }, settings, () => false);
    const { user, system } = process.cpuUsage(before);
    answer({ jobs, cpuMs: (user + system) / 1_000 });
  };
  // A tick that fails ends its process by the rejection, and so the bench.
  process.on("message", (message) => void run(message));
  process.on("disconnect", async () => {
    queue.sqs.destroy();
    await sql.end();
  });
}
