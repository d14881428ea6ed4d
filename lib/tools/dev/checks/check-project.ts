import type { Check } from "../../../cli/doctor/check.ts";
import { understood } from "../../../put-preview/field-changes.ts";
import { ownHandlers } from "../../local/handlers/own-handlers.ts";
import { namesOf } from "../../local/handlers/watch-handlers.ts";
import { type Found, lookedFor } from "../find-files.ts";
import { inFolder, loadFault } from "../load-fault.ts";
import { scheduleSource } from "../schedules/schedule-source.ts";

export async function checkHandlers(found: Found | null, folder: string): Promise<Check> {
  const name = "handlers";
  if (found === null) return { name, state: "none", text: `there is no ${lookedFor.handlers}` };
  const own = ownHandlers(found.file);
  try {
    const handlers = await own.load();
    return { name, state: "good", text: `${namesOf(handlers)}, from ${inFolder(found.file, folder)}` };
  } catch (error) {
    return { name, state: "wrong", text: loadFault(error, { folder, files: own.files }) };
  }
}

/** The fields and times of the schedules; only a running API knows handlers and calendars. */
export async function checkSchedules(found: Found | null, folder: string): Promise<Check> {
  const name = "schedules";
  if (found === null) return { name, state: "none", text: `there is no ${lookedFor.schedules}` };
  const source = scheduleSource(found.file, folder);
  try {
    const all = await source.read();
    const faults = all.flatMap(({ from, key, body, faults: own }) => {
      if (own.length > 0 || key === null) return own.map((fault) => `${from}: ${fault}`);
      const read = understood(key, body);
      return read.ok ? [] : read.faults.map((fault) => `${from} (${key}): ${fault}`);
    });
    if (faults.length === 0)
      return { name, state: "good", text: `${all.length} from ${inFolder(found.file, folder)}` };
    return { name, state: "wrong", text: faults.join("; ") };
  } catch (error) {
    return { name, state: "wrong", text: loadFault(error, { folder, files: source.files }) };
  }
}
