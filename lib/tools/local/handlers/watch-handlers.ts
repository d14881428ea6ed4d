import type { JobHandler } from "../../../job/define-job.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { setHandlers } from "./current-handlers.ts";
import type { OwnHandlers } from "./own-handlers.ts";
import { watchFiles } from "./watch-files.ts";

/** The output about changes of the handlers. */
export interface ChangesTold {
  reloaded(handlers: readonly JobHandler[]): void;
  /** The changed files cannot be loaded, and the handlers stay as they are. */
  kept(error: unknown): void;
  unwatched(folder: string, error: Error): void;
}

/** Loads the handlers again when one of their files changes, and renews the functions. */
export function watchHandlers(
  own: OwnHandlers,
  { renew, told }: { renew: () => void; told: ChangesTold },
): void {
  watchFiles({
    files: own.files,
    changed: async () => {
      try {
        const handlers = await own.load();
        setHandlers(handlers);
        renew();
        told.reloaded(handlers);
      } catch (error) {
        told.kept(error);
      }
    },
    unwatched: told.unwatched,
  });
}

export const toldInLog = (log: Log): ChangesTold => ({
  reloaded: (handlers) => log.info("local.handlers-reloaded", { handlers: namesOf(handlers) }),
  kept: (error) => log.error("local.handlers-kept", { error: errorText(error) }),
  unwatched: (folder, error) => log.warn("local.handlers-unwatched", { folder, error: errorText(error) }),
});

export const namesOf = (handlers: readonly { name: string }[]): string =>
  handlers.length === 0 ? "none" : handlers.map(({ name }) => name).join(", ");
