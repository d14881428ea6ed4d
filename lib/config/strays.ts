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

/**
 * The same for what code of handlers throws outside of its run: in a timer, in a listener, or by an `error` event of the app's own database client
 * that nothing hears. Not where no such code is: there an exception says that Carillon is half done with something.
 */
export function surviveStrayExceptions(log: Log): void {
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) =>
    log.error("function.stray-exception", { error: errorText(error) }),
  );
}
