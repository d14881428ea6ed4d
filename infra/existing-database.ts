import { type ISecurityGroup, SecurityGroup } from "aws-cdk-lib/aws-ec2";
import { DatabaseInstance, type IDatabaseInstance } from "aws-cdk-lib/aws-rds";
import { type ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";
import type { Construct } from "constructs";
import type { Settings } from "./settings.ts";

/** An RDS instance that exists, and how it is reached. */
export interface ExistingDatabase {
  readonly host: string;
  readonly port: number;
  readonly name: string;
  /** Of a user who may make roles, and owns the database. */
  readonly secretArn: string;
  readonly instanceId: string;
  readonly resourceId: string;
  readonly securityGroupId: string;
}

type Named = Pick<
  Settings,
  | "database"
  | "databaseHost"
  | "databasePort"
  | "databaseName"
  | "databaseSecretArn"
  | "databaseInstanceId"
  | "databaseResourceId"
  | "databaseSecurityGroupId"
  | "databaseMaxConnections"
>;

/** The database that the settings name, if they name one. Half a description is refused, and so is one that would not count. */
export function existingDatabase(settings: Named, inBroughtVpc: boolean): ExistingDatabase | undefined {
  const { databaseHost, databaseSecretArn, databaseInstanceId, databaseResourceId } = settings;
  const { databaseSecurityGroupId, databaseMaxConnections } = settings;
  const needed = {
    databaseHost,
    databaseSecretArn,
    databaseInstanceId,
    databaseResourceId,
    databaseSecurityGroupId,
  };
  if (settings.database === "rds") {
    const given = Object.entries(needed).filter(([, value]) => value !== undefined);
    if (given.length === 0) return undefined;
    throw new Error(`database: with ${given.map(([name]) => name).join(", ")} it must be "existing"`);
  }
  if (
    databaseHost === undefined ||
    databaseSecretArn === undefined ||
    databaseInstanceId === undefined ||
    databaseResourceId === undefined ||
    databaseSecurityGroupId === undefined ||
    databaseMaxConnections === undefined
  ) {
    const missing = Object.entries({ ...needed, databaseMaxConnections })
      .filter(([, value]) => value === undefined)
      .map(([name]) => name);
    throw new Error(`database: an existing one also takes ${missing.join(", ")}`);
  }
  if (!inBroughtVpc)
    throw new Error(
      "database: an existing one is reached from its own VPC, or from one that leads there; name that by vpcId",
    );
  return {
    host: databaseHost,
    port: settings.databasePort,
    name: settings.databaseName,
    secretArn: databaseSecretArn,
    instanceId: databaseInstanceId,
    resourceId: databaseResourceId,
    securityGroupId: databaseSecurityGroupId,
  };
}

export interface ImportedDatabase {
  readonly instance: IDatabaseInstance;
  readonly securityGroup: ISecurityGroup;
  readonly masterSecret: ISecret;
}

/** What stands in the template for it: nothing of the instance itself. */
export function importDatabase(scope: Construct, existing: ExistingDatabase): ImportedDatabase {
  const securityGroup = SecurityGroup.fromSecurityGroupId(scope, "SecurityGroup", existing.securityGroupId);
  return {
    instance: DatabaseInstance.fromDatabaseInstanceAttributes(scope, "Instance", {
      instanceIdentifier: existing.instanceId,
      instanceEndpointAddress: existing.host,
      port: existing.port,
      instanceResourceId: existing.resourceId,
      securityGroups: [securityGroup],
    }),
    securityGroup,
    masterSecret: Secret.fromSecretCompleteArn(scope, "MasterSecret", existing.secretArn),
  };
}
