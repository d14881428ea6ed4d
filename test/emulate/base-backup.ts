import { execFileSync } from "node:child_process";
import { chownSync, rmSync, statSync, writeFileSync } from "node:fs";
import path from "node:path";
import { connect } from "../../lib/db/connect.ts";
import { clusterFiles } from "../../lib/tools/local/postgres/cluster.ts";

/** With the owners of the files: the server runs as another account where root starts it. */
const copy = (from: string, to: string) => execFileSync("cp", ["-a", from, to]);

/**
 * A backup of a running server: a copy of its files, made consistent by the log that was written meanwhile. RDS
 * restores the same, with further log up to the wanted instant.
 */
export async function baseBackup(url: string, dataDir: string, copyDir: string): Promise<void> {
  // Both statements have to come in one session.
  const sql = connect({ DATABASE_URL: url }, { max: 1 });
  try {
    await sql`select pg_backup_start('drill', fast => true)`;
    copy(dataDir, copyDir);
    const [stopped] = await sql<{ label: string }[]>`
      select labelfile as label from pg_backup_stop(wait_for_archive => false)`;
    const { clusterDir } = clusterFiles(copyDir);
    // The log that makes the copy consistent ends with the backup.
    rmSync(path.join(clusterDir, "pg_wal"), { recursive: true });
    copy(path.join(clusterFiles(dataDir).clusterDir, "pg_wal"), clusterDir);
    const label = path.join(clusterDir, "backup_label");
    writeFileSync(label, stopped?.label ?? "");
    const { uid, gid } = statSync(clusterDir);
    chownSync(label, uid, gid);
    rmSync(path.join(clusterDir, "postmaster.pid"), { force: true });
  } finally {
    await sql.end();
  }
}
