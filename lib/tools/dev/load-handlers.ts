import type { JobHandler } from "../../job/define-job.ts";
import { type OwnHandlers, ownHandlers } from "../local/handlers/own-handlers.ts";
import type { Found } from "./find-files.ts";
import { loadFault } from "./load-fault.ts";

export interface LoadedHandlers {
  handlers: OwnHandlers;
  loaded: readonly JobHandler[];
}

/** A project whose handlers cannot be loaded does not start: its due jobs would die without them. */
export async function loadHandlers(found: Found, folder: string): Promise<LoadedHandlers> {
  const handlers = ownHandlers(found.file);
  try {
    return { handlers, loaded: await handlers.load() };
  } catch (error) {
    throw new Error(`The handlers cannot be loaded: ${loadFault(error, { folder, files: handlers.files })}`, {
      cause: error,
    });
  }
}
