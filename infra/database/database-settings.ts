import type { z } from "zod";
import { defaultSettings, type Settings } from "../settings.ts";

type Kind = Settings["database"];

/** Those that mean something for some kinds of database alone: given for another, somebody expects of them what does not happen. */
const belonging: Readonly<Partial<Record<keyof Settings, readonly Kind[]>>> = {
  databaseClass: ["rds"],
  databaseStorageGiB: ["rds", "existing"],
  databaseBackupDays: ["rds", "aurora"],
  databaseCapacityMin: ["aurora"],
  databaseCapacityMax: ["aurora"],
  databaseProxy: ["rds", "aurora"],
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

/** Refuses settings that belong to another kind of database, and a database that could not be reached. */
export function checkDatabaseSettings(settings: Settings, inBroughtVpc: boolean): void {
  const { database } = settings;
  const asByDefault: Readonly<Record<string, unknown>> = defaultSettings;
  const given: Readonly<Record<string, unknown>> = settings;
  for (const [name, kinds] of Object.entries(belonging)) {
    if (kinds.includes(database) || isSame(given[name], asByDefault[name])) continue;
    throw new Error(`${name}: it belongs to database ${kinds.join(" or ")}, and database is ${database}`);
  }
  if (settings.databaseCapacityMin > settings.databaseCapacityMax)
    throw new Error("databaseCapacityMin: it is at most databaseCapacityMax");
  if (settings.databaseProxy && settings.databasePrepare === true)
    throw new Error(
      "databasePrepare: a statement that is prepared by name pins a connection of databaseProxy; leave one of the two out",
    );
  if (settings.databaseNetworks.length > 0 && !settings.functionsInVpc)
    throw new Error("databaseNetworks: functions outside of a VPC connect where they like; leave it out");
  const reached = database === "rds" || database === "aurora" || inBroughtVpc || !settings.functionsInVpc;
  if (reached) return;
  const otherwise =
    database === "external" ? ", or let functions stand outside with functionsInVpc=false" : "";
  throw new Error(
    `database: an ${database} one is reached from its own VPC, or from one that leads there; name that by vpcId${otherwise}`,
  );
}

/** Whether functions prepare statements by name. What stands before an external database is not known here. */
export function preparesByName({ database, databaseProxy, databasePrepare }: Settings): boolean {
  return databasePrepare ?? (database !== "external" && !databaseProxy);
}

/** What a database is described by that is not made here. Half a description is refused. */
export function described<Shape extends z.ZodObject>(settings: Settings, shape: Shape): z.output<Shape> {
  const result = shape.safeParse(settings);
  if (result.success) return result.data;
  const missing = result.error.issues.map(({ path }) => path.join("."));
  throw new Error(`database: an ${settings.database} one also takes ${missing.join(", ")}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
