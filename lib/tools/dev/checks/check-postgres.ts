import { spawnSync } from "node:child_process";
import path from "node:path";
import type { Check } from "../../../cli/doctor/check.ts";
import { serverAccount } from "../../local/postgres/account.ts";
import { findBinaries } from "../../local/postgres/binaries.ts";
import { clusterFiles } from "../../local/postgres/cluster.ts";
import type { LocalSettings } from "../../local/settings.ts";

/** Whether the Postgres of this platform is installed, and runs under the account that it would have. */
export function checkPostgres({ databaseUrl, dataDir }: LocalSettings): Check {
  if (databaseUrl !== undefined)
    return { name: "postgres", state: "none", text: "DATABASE_URL names one, so none is started" };
  try {
    const account = serverAccount(clusterFiles(path.join(dataDir, "postgres")).clusterDir);
    const { postgres } = findBinaries(account);
    const { stdout } = spawnSync(postgres, ["--version"], { ...account, encoding: "utf8" });
    // It refuses to run as root.
    const who = account === undefined ? "" : `, as user ${account.uid} because this one is root`;
    return { name: "postgres", state: "good", text: `${stdout.trim()}${who}` };
  } catch (error) {
    return { name: "postgres", state: "wrong", text: error instanceof Error ? error.message : String(error) };
  }
}
