import { Stack } from "aws-cdk-lib";
import type { IMetric } from "aws-cdk-lib/aws-cloudwatch";
import { CfnSecurityGroupEgress, Port } from "aws-cdk-lib/aws-ec2";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import { admitReader } from "../keys/admit-reader.ts";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Network, Place } from "../network/network.ts";
import type { Settings } from "../settings.ts";
import { auroraCluster } from "./aurora-cluster.ts";
import { FunctionsProxy } from "./database-proxy.ts";
import type { DatabaseMetrics, DatabaseServer, DatabaseUser, Entrance, Way } from "./database-server.ts";
import { preparesByName } from "./database-settings.ts";
import { existingDatabase } from "./existing-database.ts";
import { externalDatabase } from "./external-database.ts";
import { rdsInstance } from "./rds-instance.ts";

export interface DatabaseProps {
  readonly network: Network;
  readonly settings: Settings;
  readonly keys: OwnKeys;
  /** How many connections the database accepts at once. */
  readonly maxConnections: number;
}

/**
 * The Postgres database of Carillon, made here or elsewhere. It is open to the functions only, each
 * as its own user.
 */
export class Database extends Construct {
  /** The database's metrics in RDS. Undefined: RDS does not run it. */
  readonly metrics: DatabaseMetrics | undefined;
  /**
   * Changes with the way in which the functions' users authenticate: the migration then runs again.
   */
  readonly logins: string;
  /**
   * The address of the server. A new address means another database, which the migration has not
   * seen yet.
   */
  readonly address: string;
  /** How many of the proxy's connections are pinned. Undefined: there is no proxy. */
  readonly pinned: IMetric | undefined;
  private readonly server: DatabaseServer;
  /**
   * The endpoint for functions. The migration, which makes their users, connects to the server
   * itself.
   */
  private readonly entrance: Entrance;
  /**
   * Whether the server keeps the plans of prepared statements for a session through this endpoint.
   */
  private readonly prepare: "on" | "off";

  constructor(scope: Construct, id: string, props: DatabaseProps) {
    super(scope, id);
    const { network, settings } = props;
    const { server, proxy } = makeServer(this, props);
    this.server = server;
    this.entrance = proxy ?? server;
    this.prepare = preparesByName(settings) ? "on" : "off";
    this.address = `${server.host}:${server.port}/${server.name}`;
    this.metrics = server.metrics;
    this.pinned = proxy?.pinned;
    this.logins = proxy === undefined ? loginsOf(server, settings) : "iam, by a proxy";
    if (network.place === undefined) return;
    // All functions share one security group, so functions that use a proxy could reach the server
    // as well; their users have no login there.
    for (const { way } of proxy === undefined ? [server] : [server, proxy]) openWay(this, network.place, way);
  }

  /**
   * Allows a function to connect as this user and as no other, and sets the variables with the
   * address.
   */
  admit(fn: LambdaFunction, user: DatabaseUser): void {
    this.tellWhere(fn, this.entrance);
    fn.addEnvironment("DATABASE_PREPARE", this.prepare);
    this.entrance.admit(fn, user);
  }

  /** Allows the migration to connect as the owner, who gives the functions' users their logins. */
  admitOwner(fn: LambdaFunction): void {
    const { masterSecret, roleSecrets } = this.server;
    this.tellWhere(fn, this.server);
    fn.addEnvironment("DATABASE_SECRET_ARN", masterSecret.secretArn);
    admitReader(masterSecret, fn);
    fn.addEnvironment("DATABASE_AUTH", roleSecrets === undefined ? "iam" : "secret");
    if (this.pinned !== undefined) fn.addEnvironment("DATABASE_PROXY", "true");
    if (roleSecrets === undefined) return;
    const arns = Object.entries(roleSecrets).map(([role, secret]) => [role, secret.secretArn]);
    fn.addEnvironment("DATABASE_ROLE_SECRET_ARNS", Stack.of(this).toJsonString(Object.fromEntries(arns)));
    for (const secret of Object.values(roleSecrets)) admitReader(secret, fn);
  }

  private tellWhere(fn: LambdaFunction, { host, port }: Entrance): void {
    fn.addEnvironment("DATABASE_HOST", host);
    fn.addEnvironment("DATABASE_PORT", port);
    fn.addEnvironment("DATABASE_NAME", this.server.name);
    for (const [name, value] of Object.entries(this.server.trust ?? {})) fn.addEnvironment(name, value);
  }
}

function loginsOf({ roleSecrets }: DatabaseServer, { databasePasswords }: Settings): string {
  return roleSecrets === undefined ? "iam" : `passwords ${databasePasswords}`;
}

interface Made {
  readonly server: DatabaseServer;
  readonly proxy?: FunctionsProxy;
}

function makeServer(scope: Construct, { network, settings, keys, maxConnections }: DatabaseProps): Made {
  if (settings.database === "existing") return { server: existingDatabase(scope, settings, keys) };
  if (settings.database === "external") return { server: externalDatabase(scope, settings, keys) };
  const { place } = network;
  if (place === undefined) throw new Error("A database that is made here needs a VPC.");
  const make = { rds: rdsInstance, aurora: auroraCluster }[settings.database];
  const server = make(scope, { ...settings, place, keys, maxConnections });
  if (!settings.databaseProxy) return { server };
  const { target, database } = server;
  const logRetention = settings.logRetentionDays;
  return {
    server,
    proxy: new FunctionsProxy(scope, "Proxy", { place, target, database, maxConnections, logRetention }),
  };
}

/** The functions' security group allows no outbound traffic without a rule. */
function openWay(scope: Construct, { functions }: Place, { to, port }: Way): void {
  if ("addIngressRule" in to) {
    to.addIngressRule(functions, Port.tcp(port), "Functions query the database");
    functions.addEgressRule(to, Port.tcp(port), "Functions query the database");
    return;
  }
  for (const [index, cidrIp] of to.entries()) {
    // A rule of its own resource, because the group's own rule denies all outbound traffic.
    new CfnSecurityGroupEgress(scope, `FunctionsToNetwork${index + 1}`, {
      groupId: functions.securityGroupId,
      ipProtocol: "tcp",
      fromPort: port,
      toPort: port,
      cidrIp,
      description: "Functions query the database",
    });
  }
}
