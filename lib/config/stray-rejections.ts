import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

/**
 * A promise that a handler, a schema or a serializer has begun and nothing awaits ends no process. Node would end it, and so does Lambda's
 * runtime by a listener of its own, with all jobs and parcels that are under way: that listener is taken away.
 */
export function surviveStrayRejections(log: Log): void {
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) =>
    log.error("function.stray-rejection", { error: errorText(error) }),
  );
}
