import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

/**
 * What a handler, a schema or a serializer throws outside of its run ends no process: a promise that nothing awaits, a timer or a listener that throws, an
 * `error` event of the app's own database client that nothing hears. Node would end it, and so does Lambda's runtime by listeners of its own, with all
 * jobs and parcels that are under way: those listeners are taken away.
 */
export function surviveStrays(log: Log): void {
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) =>
    log.error("function.stray-rejection", { error: errorText(error) }),
  );
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) =>
    log.error("function.stray-exception", { error: errorText(error) }),
  );
}
