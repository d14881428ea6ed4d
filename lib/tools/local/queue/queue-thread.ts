import { parentPort, workerData } from "node:worker_threads";
import { errorText } from "../../../log/error-text.ts";
import { PortTaken } from "../http-server.ts";
import type { ThreadAnswer } from "./queues-beside.ts";
import { type QueueOptions, startQueues } from "./start-queues.ts";

/**
 * The thread that `queuesBeside` starts: it reports its port, and ends when it gets the message to
 * stop.
 */
async function run(options: QueueOptions, answer: (what: ThreadAnswer) => void): Promise<void> {
  try {
    const queues = await startQueues(options);
    parentPort?.once("message", async () => {
      await queues.stop();
      process.exit();
    });
    answer({ up: { url: queues.url, port: queues.port } });
  } catch (error) {
    answer(error instanceof PortTaken ? { portTaken: options.port } : { failed: errorText(error) });
  }
}

await run(workerData, (what) => parentPort?.postMessage(what));
