import type { Check } from "../../../cli/doctor/check.ts";
import type { JobHandler } from "../../../job/define-job.ts";
import { ownHandlers } from "../../local/handlers/own-handlers.ts";
import { namesOf } from "../../local/handlers/watch-handlers.ts";
import { type Found, lookedFor } from "../find-files.ts";
import { inFolder, loadFault } from "../load-fault.ts";

/** `loaded`: the handlers, none without a module; null if the module cannot be loaded. */
export async function checkHandlers(
  found: Found | null,
  folder: string,
): Promise<{ check: Check; loaded: readonly JobHandler[] | null }> {
  const name = "handlers";
  if (found === null)
    return { check: { name, state: "none", text: `there is no ${lookedFor.handlers}` }, loaded: [] };
  const own = ownHandlers(found.file);
  try {
    const loaded = await own.load();
    const text = `${namesOf(loaded)}, from ${inFolder(found.file, folder)}`;
    return { check: { name, state: "good", text }, loaded };
  } catch (error) {
    const text = loadFault(error, { folder, files: own.files });
    return { check: { name, state: "wrong", text }, loaded: null };
  }
}
