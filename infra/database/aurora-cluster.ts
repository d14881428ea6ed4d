import { CfnResource, Duration, RemovalPolicy } from "aws-cdk-lib";
import {
  AuroraPostgresEngineVersion,
  ClusterInstance,
  DatabaseCluster,
  DatabaseClusterEngine,
  ProxyTarget,
} from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Place } from "../network/network.ts";
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
import { type Restored, restoreCluster } from "./restore.ts";
import { ownDatabaseName, parameterGroup } from "./server-parameters.ts";

export interface AuroraClusterProps extends Restored {
  readonly place: Place;
  readonly keys: OwnKeys;
  /**
   * The cluster's smallest number of capacity units; each has about 2 GiB of memory, with processor
   * and network to match.
   */
  readonly databaseCapacityMin: number;
  readonly databaseCapacityMax: number;
  /** How many connections the database accepts at once. */
  readonly maxConnections: number;
  readonly databaseBackupDays: number;
  /** Whether RDS exports the database's logs. */
  readonly databaseLogs: boolean;
  readonly databaseProtected: boolean;
  /** Whether a reader in another zone is ready to take over. */
  readonly highlyAvailable: boolean;
}

/** Performance Insights needs at least so many capacity units, and would keep a cluster from shrinking below. */
const INSIGHTS_CAPACITY_MIN = 2;

/**
 * Postgres on Aurora, sized by the load. Encryption, network access and deletion protection are as
 * for an RDS instance.
 */
export function auroraCluster(scope: Construct, props: AuroraClusterProps): DatabaseServer & ProxiedServer {
  const { place } = props;
  const securityGroup = place.securityGroup("Database", "Database of Carillon");
  // The major version alone, as on RDS: the one that the tests run on.
  const version = AuroraPostgresEngineVersion.of("18", "18");
  const engine = DatabaseClusterEngine.auroraPostgres({ version });

  const watched = props.databaseCapacityMin < INSIGHTS_CAPACITY_MIN ? {} : insights;
  const cluster = new DatabaseCluster(scope, "Cluster", {
    engine,
    writer: ClusterInstance.serverlessV2("Writer", watched),
    // The reader always has the writer's size, because it may have to take over at any moment.
    readers: props.highlyAvailable
      ? [ClusterInstance.serverlessV2("Standby", { scaleWithWriter: true, ...watched })]
      : [],
    serverlessV2MinCapacity: props.databaseCapacityMin,
    serverlessV2MaxCapacity: props.databaseCapacityMax,
    defaultDatabaseName: ownDatabaseName,
    port: ownPort,
    vpc: place.vpc,
    vpcSubnets: place.subnets,
    securityGroups: [securityGroup],
    ...encryptedStorage(props.keys),

    iamAuthentication: true,
    manageMasterUserPassword: true,
    parameterGroup: parameterGroup(scope, engine, props.maxConnections),
    ...exportedLogs(props.databaseLogs),

    backup: { retention: Duration.days(props.databaseBackupDays) },
    // A restore to the wrong instant can be repeated: the backups outlive a protected database.
    deleteAutomatedBackups: !props.databaseProtected,
    copyTagsToSnapshot: true,
    deletionProtection: props.databaseProtected,
    removalPolicy: RemovalPolicy.SNAPSHOT,
  });
  acknowledgeOf(cluster, props);
  restoreCluster(cluster, props);

  return {
    target: ProxyTarget.fromCluster(cluster),
    database: cluster,
    host: cluster.clusterEndpoint.hostname,
    port: String(ownPort),
    name: ownDatabaseName,
    masterSecret: managedSecretOf(cluster, props.keys),
    way: { to: securityGroup, port: ownPort },
    admit: (fn, user) => admitByIam(cluster, fn, user),
    metrics: { kind: "serverless", of: (name, options) => cluster.metric(name, options) },
  };
}

function acknowledgeOf(cluster: DatabaseCluster, props: AuroraClusterProps): void {
  const resource = cluster.node.defaultChild;
  // CDK's list of versions ends with 17.
  if (resource instanceof CfnResource)
    resource.addMetadata("cfn-lint", { config: { ignore_checks: ["E3690"] } });
  acknowledgeUnprotected(cluster, props.databaseProtected);
}
