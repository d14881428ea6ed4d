import type { z } from "zod";
import { defaultSettings, type Settings } from "../settings.ts";
import { checkRestore } from "./restore.ts";

type Kind = Settings["database"];

/**
 * Settings that only some kinds of database use. Given for another kind they would have no effect,
 * so they are refused.
 */
const belonging: Readonly<Partial<Record<keyof Settings, readonly Kind[]>>> = {
  databaseClass: ["rds"],
  databaseStorageGiB: ["rds", "existing"],
  databaseBackupDays: ["rds", "aurora"],
  databaseLogs: ["rds", "aurora"],
  databaseCapacityMin: ["aurora"],
  databaseCapacityMax: ["aurora"],
  databaseProxy: ["rds", "aurora"],
  databaseKeyArn: ["rds", "aurora"],
  databaseSnapshot: ["rds", "aurora"],
  databaseRestoredFrom: ["rds", "aurora"],
  databaseRestoreTime: ["rds", "aurora"],
  databaseBackupRegion: ["rds"],
  databaseBackupRegionKeyArn: ["rds"],
  databaseHost: ["existing", "external"],
  databasePort: ["existing", "external"],
  databaseName: ["existing", "external"],
  databaseSecretArn: ["existing", "external"],
  databaseInstanceId: ["existing"],
  databaseResourceId: ["existing"],
  databaseSecurityGroupId: ["existing"],
  databaseNetworks: ["external"],
  databasePasswords: ["external"],
  databaseTls: ["external"],
  databaseCaFile: ["external"],
  functionsInVpc: ["external"],
};

/**
 * Refuses settings of another kind of database, and a database that the functions could not reach.
 */
export function checkDatabaseSettings(settings: Settings, inBroughtVpc: boolean): void {
  const { database } = settings;
  const asByDefault: Readonly<Record<string, unknown>> = defaultSettings;
  const given: Readonly<Record<string, unknown>> = settings;
  for (const [name, kinds] of Object.entries(belonging)) {
    if (kinds.includes(database) || isSame(given[name], asByDefault[name])) continue;
    throw new Error(`${name}: it is only for database ${kinds.join(" or ")}, and database is ${database}`);
  }
  checkRestore(settings);
  if ((settings.databaseBackupRegion === undefined) !== (settings.databaseBackupRegionKeyArn === undefined))
    throw new Error(
      "databaseBackupRegion: a copy of encrypted backups needs a key of that region; give it together with databaseBackupRegionKeyArn",
    );
  if (settings.databaseCapacityMin > settings.databaseCapacityMax)
    throw new Error("databaseCapacityMin: it must not exceed databaseCapacityMax");
  if (settings.databaseProxy && settings.databasePrepare === true)
    throw new Error(
      "databasePrepare: statements prepared by name pin the connections of databaseProxy; set only one of the two",
    );
  if (settings.databaseNetworks.length > 0 && !settings.functionsInVpc)
    throw new Error(
      "databaseNetworks: it restricts functions in a VPC, and functionsInVpc is false; leave it out",
    );
  const reached = database === "rds" || database === "aurora" || inBroughtVpc || !settings.functionsInVpc;
  if (reached) return;
  const otherwise =
    database === "external" ? ", or run functions outside of a VPC with functionsInVpc=false" : "";
  throw new Error(
    `database: an ${database} one is reached from its own VPC, or from one with a route to it; give that VPC as vpcId${otherwise}`,
  );
}

/**
 * Whether functions prepare statements by name. Off by default for an external database, which may
 * have an unknown pooler in front.
 */
export function preparesByName({ database, databaseProxy, databasePrepare }: Settings): boolean {
  return databasePrepare ?? (database !== "external" && !databaseProxy);
}

/** The settings that describe a database made elsewhere. Refuses an incomplete description. */
export function described<Shape extends z.ZodObject>(settings: Settings, shape: Shape): z.output<Shape> {
  const result = shape.safeParse(settings);
  if (result.success) return result.data;
  const missing = result.error.issues.map(({ path }) => path.join("."));
  throw new Error(`database: an ${settings.database} one also needs ${missing.join(", ")}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
