import { Duration, RemovalPolicy } from "aws-cdk-lib";
import { InstanceType } from "aws-cdk-lib/aws-ec2";
import {
  CfnDBInstance,
  DatabaseInstance,
  DatabaseInstanceEngine,
  PostgresEngineVersion,
  ProxyTarget,
  StorageType,
} from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Place } from "../network/network.ts";
import { acknowledge } from "../watch/acknowledge.ts";
import type { ProxiedServer } from "./database-proxy.ts";
import { admitByIam, type DatabaseServer } from "./database-server.ts";
import {
  acknowledgeUnprotected,
  encryptedStorage,
  exportedLogs,
  insights,
  managedSecretOf,
  ownPort,
} from "./own-server.ts";
import { type Restored, restoreInstance } from "./restore.ts";
import { ownDatabaseName, parameterGroup } from "./server-parameters.ts";

export interface RdsInstanceProps extends Restored {
  readonly place: Place;
  readonly keys: OwnKeys;
  /** Its class, without its "db." prefix. */
  readonly databaseClass: string;
  /** How many connections the database accepts at once. */
  readonly maxConnections: number;
  readonly databaseStorageGiB: number;
  readonly databaseBackupDays: number;
  /** The region that gets a copy of the backups, and the key there that encrypts it. Default: none. */
  readonly databaseBackupRegion?: string | undefined;
  readonly databaseBackupRegionKeyArn?: string | undefined;
  /** Whether RDS exports the database's logs. */
  readonly databaseLogs: boolean;
  readonly databaseProtected: boolean;
  readonly highlyAvailable: boolean;
}

const STORAGE_GROWTH = 5;

/** Postgres on RDS: encrypted, TLS only, not in a public subnet; deleting it leaves a snapshot. */
export function rdsInstance(scope: Construct, props: RdsInstanceProps): DatabaseServer & ProxiedServer {
  const { place } = props;
  const securityGroup = place.securityGroup("Database", "Database of Carillon");

  // The major version alone: AWS withdraws minor versions, and a template that names one then stops
  // deploying.
  const engine = DatabaseInstanceEngine.postgres({ version: PostgresEngineVersion.VER_18 });

  const instance = new DatabaseInstance(scope, "Instance", {
    engine,
    instanceType: new InstanceType(props.databaseClass),
    databaseName: ownDatabaseName,
    vpc: place.vpc,
    vpcSubnets: place.subnets,
    securityGroups: [securityGroup],
    publiclyAccessible: false,
    multiAz: props.highlyAvailable,

    storageType: StorageType.GP3,
    allocatedStorage: props.databaseStorageGiB,
    maxAllocatedStorage: props.databaseStorageGiB * STORAGE_GROWTH,
    ...encryptedStorage(props.keys),

    iamAuthentication: true,
    manageMasterUserPassword: true,
    parameterGroup: parameterGroup(scope, engine, props.maxConnections),
    ...exportedLogs(props.databaseLogs),
    ...insights,

    autoMinorVersionUpgrade: true,
    backupRetention: Duration.days(props.databaseBackupDays),
    // A restore to the wrong instant can be repeated: the backups outlive a protected database.
    deleteAutomatedBackups: !props.databaseProtected,
    copyTagsToSnapshot: true,
    deletionProtection: props.databaseProtected,
    removalPolicy: RemovalPolicy.SNAPSHOT,
  });
  acknowledgeOf(instance, props);
  restoreInstance(instance, props);
  copyBackups(instance, props);

  return {
    target: ProxyTarget.fromInstance(instance),
    database: instance,
    host: instance.dbInstanceEndpointAddress,
    port: instance.dbInstanceEndpointPort,
    name: ownDatabaseName,
    masterSecret: managedSecretOf(instance, props.keys),
    way: { to: securityGroup, port: ownPort },
    admit: (fn, user) => admitByIam(instance, fn, user),
    metrics: { kind: "instance", of: (name, options) => instance.metric(name, options) },
  };
}

/** The CDK has properties for the copy on the resource alone. */
function copyBackups({ node }: DatabaseInstance, props: RdsInstanceProps): void {
  const resource = node.defaultChild;
  if (!(resource instanceof CfnDBInstance)) return;
  resource.automaticBackupReplicationRegion = props.databaseBackupRegion;
  resource.automaticBackupReplicationKmsKeyId = props.databaseBackupRegionKeyArn;
}

function acknowledgeOf(instance: DatabaseInstance, props: RdsInstanceProps): void {
  acknowledge(
    instance,
    "RDS11",
    "The database is in isolated subnets, and its security group admits only the functions: another port would protect it from nothing.",
  );
  if (!props.highlyAvailable)
    acknowledge(
      instance,
      "RDS3",
      "A standby doubles the price of the database; highlyAvailable adds one. Without it nothing is lost while the instance recovers, but jobs are late.",
    );
  acknowledgeUnprotected(instance, props.databaseProtected);
}
