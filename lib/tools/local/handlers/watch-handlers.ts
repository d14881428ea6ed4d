import { watch } from "node:fs";
import path from "node:path";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { setHandlers } from "./current-handlers.ts";
import type { OwnHandlers } from "./own-handlers.ts";

/** An editor writes a file in several steps: they are one change. */
const settleMs = 60;

/**
 * Loads the handlers again when one of their files changes, and renews the functions. With a file
 * that cannot be loaded, the handlers stay as they are, and the log says why.
 */
export function watchHandlers(own: OwnHandlers, { renew, log }: { renew: () => void; log: Log }): void {
  const watched = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let reloads = Promise.resolve();
  const reload = async () => {
    try {
      const handlers = await own.load();
      setHandlers(handlers);
      renew();
      log.info("local.handlers-reloaded", { handlers: namesOf(handlers) });
    } catch (error) {
      log.error("local.handlers-kept", { error: errorText(error) });
    }
    // A new import may be in a folder that is not watched yet.
    watchFolders();
  };
  const changed = (folder: string, name: string | null) => {
    if (name !== null && !own.files.has(path.join(folder, name))) return;
    clearTimeout(timer);
    timer = setTimeout(() => {
      reloads = reloads.then(reload);
    }, settleMs);
  };
  const watchFolders = () => {
    for (const folder of new Set([...own.files].map((file) => path.dirname(file)))) {
      if (watched.has(folder)) continue;
      const watcher = watch(folder, (_event, name) => changed(folder, name));
      watcher.on("error", (error) =>
        log.warn("local.handlers-unwatched", { folder, error: errorText(error) }),
      );
      watched.add(folder);
    }
  };
  watchFolders();
}

export const namesOf = (handlers: readonly { name: string }[]): string =>
  handlers.length === 0 ? "none" : handlers.map(({ name }) => name).join(", ");
