import {
  CfnDBCluster,
  CfnDBInstance,
  type DatabaseCluster,
  type DatabaseInstance,
} from "aws-cdk-lib/aws-rds";
import type { Settings } from "../settings.ts";

/** The backup that a database is made of. Default: none; the database is made empty. */
export type Restored = Pick<Settings, "databaseSnapshot" | "databaseRestoredFrom" | "databaseRestoreTime">;

/**
 * CloudFormation makes an instance of a backup only where its resource leaves out the properties that the
 * backup decides: the database's name, the owner's name, and the key. RDS refuses less storage than the backup
 * has, which may have grown: `databaseStorageGiB` must be at least that.
 */
export function restoreInstance({ node }: DatabaseInstance, restored: Restored): void {
  const resource = node.defaultChild;
  if (!isFromBackup(restored) || !(resource instanceof CfnDBInstance)) return;
  const { databaseSnapshot, databaseRestoredFrom: source } = restored;
  resource.dbName = undefined;
  resource.masterUsername = undefined;
  resource.kmsKeyId = undefined;
  resource.dbSnapshotIdentifier = databaseSnapshot;
  if (source === undefined) return;
  if (source.startsWith("arn:")) resource.sourceDbInstanceAutomatedBackupsArn = source;
  else resource.sourceDbiResourceId = source;
  if (restored.databaseRestoreTime === "latest") resource.useLatestRestorableTime = true;
  else resource.restoreTime = restored.databaseRestoreTime;
}

/** As for an instance. A cluster takes the key of its backup or another one. */
export function restoreCluster({ node }: DatabaseCluster, restored: Restored): void {
  const resource = node.defaultChild;
  if (!isFromBackup(restored) || !(resource instanceof CfnDBCluster)) return;
  const { databaseSnapshot, databaseRestoredFrom: source } = restored;
  resource.databaseName = undefined;
  resource.masterUsername = undefined;
  resource.snapshotIdentifier = databaseSnapshot;
  if (source === undefined) return;
  resource.sourceDbClusterResourceId = source;
  if (restored.databaseRestoreTime === "latest") resource.useLatestRestorableTime = true;
  else resource.restoreToTime = restored.databaseRestoreTime;
}

/** Refuses a backup of another kind of database, and settings that contradict each other. */
export function checkRestore({ database, ...restored }: Settings): void {
  const { databaseSnapshot: snapshot, databaseRestoredFrom: source } = restored;
  if (snapshot !== undefined && source !== undefined)
    throw new Error("databaseRestoredFrom: databaseSnapshot is given as well; give only one of the two");
  if (source === undefined && restored.databaseRestoreTime !== "latest")
    throw new Error("databaseRestoreTime: it needs databaseRestoredFrom, the database to restore");
  const isOfCluster = source?.startsWith("cluster-") || snapshot?.includes(":cluster-snapshot:");
  const isOfInstance =
    (source !== undefined && !source.startsWith("cluster-")) || snapshot?.includes(":snapshot:");
  const name = source === undefined ? "databaseSnapshot" : "databaseRestoredFrom";
  if (isOfCluster && database === "rds")
    throw new Error(`${name}: it names a backup of an Aurora cluster, and database is rds`);
  if (isOfInstance && database === "aurora")
    throw new Error(`${name}: it names a backup of an RDS instance, and database is aurora`);
}

function isFromBackup({ databaseSnapshot, databaseRestoredFrom }: Restored): boolean {
  return (databaseSnapshot ?? databaseRestoredFrom) !== undefined;
}
