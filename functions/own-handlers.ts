import type { JobHandler } from "../lib/job/define-job.ts";
import { withoutSameNames } from "../lib/job/same-names.ts";
import { errorText } from "../lib/log/error-text.ts";
import type { Log } from "../lib/log/log.ts";

export interface OwnHandlers {
  handlers: readonly JobHandler[];
  /** Set if the module of the handlers threw, so that there are none, or if handlers share a name. */
  handlersFault: Error | undefined;
}

/**
 * The module behind `#handlers`. It is an app's code and may throw when it is imported, for example
 * because a variable is missing: then only what needs a handler fails, and not the whole function.
 */
const imported = await import("#handlers").then(
  (module) => ({ module }),
  (error: unknown) => ({ error }),
);

export function ownHandlers(log: Log): OwnHandlers {
  if ("module" in imported) {
    const own = withoutSameNames(imported.module.handlers);
    if (own.handlersFault !== undefined)
      log.error("handlers.same-name", { error: errorText(own.handlersFault) });
    return own;
  }
  const { error } = imported;
  log.error("handlers.not-loaded", { error: errorText(error) });
  return { handlers: [], handlersFault: new Error(`The handlers could not be loaded: ${errorText(error)}`) };
}
