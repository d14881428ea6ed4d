import type { JobHandler } from "../../../job/define-job.ts";

/**
 * The module behind `#handlers` where the local stack runs an app's handlers. Functions read the
 * binding when they are assembled, so environments that are made after a change have the new ones.
 */
export let handlers: readonly JobHandler[] = [];

export function setHandlers(loaded: readonly JobHandler[]): void {
  handlers = loaded;
}
