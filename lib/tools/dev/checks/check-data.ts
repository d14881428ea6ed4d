import { accessSync, constants, existsSync } from "node:fs";
import path from "node:path";
import type { Check } from "../../../cli/doctor/check.ts";
import { DataDirInUse, DataDirUnusable, openDataDir } from "../../local/data-dir.ts";
import { clusterFiles } from "../../local/postgres/cluster.ts";
import { runningServer } from "../../local/postgres/leftover.ts";

/** The data directory: whether it can be written, who uses it, and what an earlier run left. */
export function checkData(dataDir: string): Check & { isRunning: boolean } {
  const name = "data";
  try {
    accessSync(existingAbove(dataDir), constants.R_OK | constants.W_OK | constants.X_OK);
    if (!existsSync(dataDir))
      return { name, state: "good", text: `${dataDir} will be made`, isRunning: false };
    openDataDir(dataDir).release();
    const leftover = runningServer(clusterFiles(path.join(dataDir, "postgres")).clusterDir);
    const text =
      leftover === undefined
        ? `${dataDir} can be written, and nothing uses it`
        : `${dataDir}: the Postgres of an earlier run (process ${leftover}) still runs; the next start stops it`;
    return { name, state: "good", text, isRunning: false };
  } catch (error) {
    if (error instanceof DataDirInUse) {
      const at = error.url === null ? "" : ` at ${error.url}`;
      return { name, state: "good", text: `${dataDir} is in use by the local stack${at}`, isRunning: true };
    }
    const text = error instanceof Error ? error.message : String(error);
    if (error instanceof DataDirUnusable) return { name, state: "wrong", text, isRunning: false };
    const remedy = "let your user write it, or name another directory in CARILLON_DATA_DIR";
    return { name, state: "wrong", text: `${text}: ${remedy}`, isRunning: false };
  }
}

function existingAbove(folder: string): string {
  return existsSync(folder) ? folder : existingAbove(path.dirname(folder));
}
