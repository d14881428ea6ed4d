import { watchFiles } from "../../local/handlers/watch-files.ts";
import type { Found } from "../find-files.ts";
import { loadFault } from "../load-fault.ts";
import { type Applied, type ApplyParts, applySchedules } from "./apply-schedules.ts";
import { scheduleSource } from "./schedule-source.ts";

export interface KeepParts {
  found: Found | null;
  folder: string;
  say(who: string, text: string, fails?: boolean): void;
}

/**
 * Applies the schedules of the project now, and after each change of their files. With a fault, the
 * schedules before stay.
 */
export async function keepSchedules({ found, folder, say }: KeepParts, parts: ApplyParts): Promise<Applied> {
  if (found === null) return { line: "", faults: [] };
  const source = scheduleSource(found.file, folder);
  const apply = async (): Promise<Applied> => {
    try {
      return await applySchedules(parts, await source.read());
    } catch (error) {
      return { line: "nothing was changed", faults: [loadFault(error, { folder, files: source.files })] };
    }
  };
  const first = await apply();
  watchFiles({
    files: source.files,
    takes: source.takes,
    changed: async () => {
      const { line, faults } = await apply();
      say("schedules", line, faults.length > 0);
      for (const fault of faults) say("schedules", fault, true);
    },
    unwatched: (where, error) =>
      say("schedules", `changes in ${where} are not seen any more: ${error.message}`, true),
  });
  return first;
}
