import { Stack } from "aws-cdk-lib";
import { CfnSecurityGroupEgress, Port } from "aws-cdk-lib/aws-ec2";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { Construct } from "constructs";
import type { DatabaseMetrics, DatabaseServer, DatabaseUser, Entrance, Way } from "./database-server.ts";
import { existingDatabase } from "./existing-database.ts";
import { externalDatabase } from "./external-database.ts";
import type { Network, Place } from "./network.ts";
import { rdsInstance } from "./rds-instance.ts";
import type { Settings } from "./settings.ts";

export interface DatabaseProps {
  readonly network: Network;
  readonly settings: Settings;
  /** How many connections it takes at once. */
  readonly maxConnections: number;
}

/** The Postgres that everything is kept in, made here or not: open to the functions alone, each as its own user. */
export class Database extends Construct {
  /** What RDS measures of it. None: it is not RDS that runs it. */
  readonly metrics: DatabaseMetrics | undefined;
  /** Another text where the functions' users are to be let in in another way: the migration then runs again. */
  readonly logins: string;
  private readonly server: DatabaseServer;

  constructor(scope: Construct, id: string, { network, settings, maxConnections }: DatabaseProps) {
    super(scope, id);
    this.server = makeServer(this, network, settings, maxConnections);
    this.metrics = this.server.metrics;
    this.logins = this.server.roleSecrets === undefined ? "iam" : `secret ${settings.databasePasswords}`;
    if (network.place !== undefined) openWay(this, network.place, this.server.way);
  }

  /** Lets a function in as this user and as no other, and tells it where. */
  admit(fn: LambdaFunction, user: DatabaseUser): void {
    this.tellWhere(fn, this.server);
    this.server.admit(fn, user);
  }

  /** Lets the migration in as the owner of everything, who gives the functions' users their logins. */
  admitOwner(fn: LambdaFunction): void {
    const { masterSecret, roleSecrets } = this.server;
    this.tellWhere(fn, this.server);
    fn.addEnvironment("DATABASE_SECRET_ARN", masterSecret.secretArn);
    masterSecret.grantRead(fn);
    fn.addEnvironment("DATABASE_AUTH", roleSecrets === undefined ? "iam" : "secret");
    if (roleSecrets === undefined) return;
    const arns = Object.entries(roleSecrets).map(([role, secret]) => [role, secret.secretArn]);
    fn.addEnvironment("DATABASE_ROLE_SECRETS", Stack.of(this).toJsonString(Object.fromEntries(arns)));
    for (const secret of Object.values(roleSecrets)) secret.grantRead(fn);
  }

  private tellWhere(fn: LambdaFunction, { host, port }: Entrance): void {
    fn.addEnvironment("DATABASE_HOST", host);
    fn.addEnvironment("DATABASE_PORT", port);
    fn.addEnvironment("DATABASE_NAME", this.server.name);
    for (const [name, value] of Object.entries(this.server.trust ?? {})) fn.addEnvironment(name, value);
  }
}

function makeServer(
  scope: Construct,
  network: Network,
  settings: Settings,
  maxConnections: number,
): DatabaseServer {
  if (settings.database === "existing") return existingDatabase(scope, settings);
  if (settings.database === "external") return externalDatabase(scope, settings);
  if (network.place === undefined) throw new Error("A database of our own stands in a VPC.");
  return rdsInstance(scope, { ...settings, place: network.place, maxConnections });
}

/** The functions' group lets nothing out by itself. */
function openWay(scope: Construct, { functions }: Place, { to, port }: Way): void {
  if ("addIngressRule" in to) {
    to.addIngressRule(functions, Port.tcp(port), "Functions query the database");
    functions.addEgressRule(to, Port.tcp(port), "Functions query the database");
    return;
  }
  for (const [index, cidrIp] of to.entries()) {
    // Apart from the group, whose own rule lets nothing out.
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
