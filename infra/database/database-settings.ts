import { z } from "zod";
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

/** The settings without which an existing database is not known. */
export const existingDescription = z.object({
  databaseHost: z.string(),
  databaseSecretArn: z.string(),
  databaseInstanceId: z.string(),
  databaseResourceId: z.string(),
  databaseSecurityGroupId: z.string(),
  databaseMaxConnections: z.number(),
});

/** As for an existing one, without what IAM and RDS would name. */
export const externalDescription = existingDescription.pick({
  databaseHost: true,
  databaseSecretArn: true,
  databaseMaxConnections: true,
});

/**
 * Refuses settings of another kind of database, an incomplete description of one, and a database that the
 * functions could not reach: all faults in one error.
 */
export function checkDatabaseSettings(settings: Settings, inBroughtVpc: boolean): void {
  const faults = [
    ...ofOtherKinds(settings),
    ...missing(settings),
    ...unreachable(settings, inBroughtVpc),
    ...contradictions(settings),
  ];
  if (faults.length > 1)
    throw new Error(["These settings of the database cannot be used:", ...faults].join("\n  "));
  for (const fault of faults) throw new Error(fault);
  checkRestore(settings);
}

function ofOtherKinds(settings: Settings): string[] {
  const { database } = settings;
  const asByDefault: Readonly<Record<string, unknown>> = defaultSettings;
  const given: Readonly<Record<string, unknown>> = settings;
  return Object.entries(belonging)
    .filter(([name, kinds]) => !kinds.includes(database) && !isSame(given[name], asByDefault[name]))
    .map(
      ([name, kinds]) =>
        `${name}: it is only for database ${kinds.join(" or ")}, and database is ${database}`,
    );
}

function missing(settings: Settings): string[] {
  const { database } = settings;
  if (database !== "existing" && database !== "external") return [];
  const shape = database === "existing" ? existingDescription : externalDescription;
  const names = (shape.safeParse(settings).error?.issues ?? []).map(({ path }) => path.join("."));
  return names.length === 0 ? [] : [`database: an ${database} one also needs ${names.join(", ")}`];
}

function unreachable(
  { database, functionsInVpc, databaseNetworks }: Settings,
  inBroughtVpc: boolean,
): string[] {
  if (!functionsInVpc)
    return databaseNetworks.length === 0
      ? []
      : ["databaseNetworks: it restricts functions in a VPC, and functionsInVpc is false; leave it out"];
  if (database === "rds" || database === "aurora") return [];
  if (!inBroughtVpc)
    return [
      `database: an ${database} one is reached from its own VPC, or from one with a route to it; give that VPC as vpcId, with vpcSubnetIds and vpcAvailabilityZones${
        database === "external"
          ? " and the networks of the database as databaseNetworks, or run functions outside of a VPC with functionsInVpc=false"
          : ""
      }`,
    ];
  return database === "external" && databaseNetworks.length === 0
    ? [
        "databaseNetworks: give the networks of the external database, such as 10.20.0.0/16; functions in a VPC can connect to no others",
      ]
    : [];
}

function contradictions(settings: Settings): string[] {
  const faults: string[] = [];
  if ((settings.databaseBackupRegion === undefined) !== (settings.databaseBackupRegionKeyArn === undefined))
    faults.push(
      "databaseBackupRegion: a copy of encrypted backups needs a key of that region; give it together with databaseBackupRegionKeyArn",
    );
  if (settings.databaseCapacityMin > settings.databaseCapacityMax)
    faults.push("databaseCapacityMin: it must not exceed databaseCapacityMax");
  if (settings.databaseProxy && settings.databasePrepare === true)
    faults.push(
      "databasePrepare: statements prepared by name pin the connections of databaseProxy; set only one of the two",
    );
  return faults;
}

/**
 * Whether functions prepare statements by name. Off by default for an external database, which may
 * have an unknown pooler in front.
 */
export function preparesByName({ database, databaseProxy, databasePrepare }: Settings): boolean {
  return databasePrepare ?? (database !== "external" && !databaseProxy);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
