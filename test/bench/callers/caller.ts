import { parentPort, workerData } from "node:worker_threads";
import * as z from "zod";
import { assemble } from "../../../functions/api.ts";
import { httpEvent, invocation } from "../../api/http-event.ts";

/** One environment of the API's function, which handles one batch after the other. */
const given = z.object({ env: z.record(z.string(), z.string()), bearer: z.string() }).parse(workerData);
const headers = { authorization: `Bearer ${given.bearer}` };
const { handler, close } = assemble(given.env);

parentPort?.on("message", async (body: unknown) => {
  if (body === null) {
    parentPort?.close();
    return close();
  }
  const { statusCode, body: answer } = await handler(
    httpEvent("POST", "/v1/schedules:batch", { headers, body }),
    invocation,
  );
  if (statusCode >= 300 || answer.includes('"error"'))
    throw new Error(`A batch was answered ${statusCode}: ${answer.slice(0, 500)}`);
  parentPort?.postMessage("answered");
});
parentPort?.postMessage("ready");
