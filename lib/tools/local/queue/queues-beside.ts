import { once } from "node:events";
import { Worker } from "node:worker_threads";
import * as z from "zod";
import { PortTaken } from "../http-server.ts";
import { ownModule } from "../package-root.ts";
import { type QueueEmulator, type QueueOptions, queueUrlAt } from "./start-queues.ts";

const threadAnswer = z.union([
  z.object({ up: z.object({ url: z.string(), port: z.int() }) }),
  z.object({ portTaken: z.int() }),
  z.object({ failed: z.string() }),
]);

export type ThreadAnswer = z.infer<typeof threadAnswer>;

const script = ownModule("lib/tools/local/queue/queue-thread");

/**
 * `startQueues` in a thread of its own: the queues' traffic takes as much processor time as all
 * functions together, and would delay each of them. When the thread fails later, the process ends
 * as well.
 */
export async function queuesBeside(options: QueueOptions): Promise<QueueEmulator> {
  const thread = new Worker(script, { workerData: options });
  const [said] = await once(thread, "message");
  const answer = threadAnswer.parse(said);
  if ("up" in answer) {
    return {
      ...answer.up,
      queueUrl: (name) => queueUrlAt(answer.up.url, name),
      stop: async () => {
        const ended = once(thread, "exit");
        thread.postMessage("stop");
        await ended;
      },
    };
  }
  throw "portTaken" in answer ? new PortTaken(answer.portTaken) : new Error(answer.failed);
}
