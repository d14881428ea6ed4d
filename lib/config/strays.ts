import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";

/**
 * Keeps the process alive when a promise rejects that no code awaits. A handler, a schema or a
 * serializer may leave one behind. Node would end the process with all of its jobs and parcels. So
 * would a listener of Lambda's runtime, which is removed here.
 */
export function surviveStrayRejections(log: Log): void {
  process.removeAllListeners("unhandledRejection");
  process.on("unhandledRejection", (error) =>
    log.error("function.stray-rejection", { error: errorText(error) }),
  );
}

/**
 * Keeps the process alive after an exception of handler code outside of its run: in a timer, in a
 * listener, or by an unhandled `error` event of the app's own database client. Not for functions
 * without handler code: there, an exception means that work of Carillon is half done.
 */
export function surviveStrayExceptions(log: Log): void {
  process.removeAllListeners("uncaughtException");
  process.on("uncaughtException", (error) =>
    log.error("function.stray-exception", { error: errorText(error) }),
  );
}
