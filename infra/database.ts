import { Duration, RemovalPolicy } from "aws-cdk-lib";
import type { IMetric, MetricOptions } from "aws-cdk-lib/aws-cloudwatch";
import { InstanceType, Port } from "aws-cdk-lib/aws-ec2";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import {
  DatabaseInstance,
  DatabaseInstanceEngine,
  type IDatabaseInstance,
  ParameterGroup,
  PostgresEngineVersion,
  StorageType,
} from "aws-cdk-lib/aws-rds";
import type { ISecret } from "aws-cdk-lib/aws-secretsmanager";
import { Construct } from "constructs";
import type { functionRoles } from "../lib/db/iam-logins.ts";
import { acknowledge } from "./acknowledge.ts";
import { type ExistingDatabase, type ImportedDatabase, importDatabase } from "./existing-database.ts";
import type { Network } from "./network.ts";

export type DatabaseUser = (typeof functionRoles)[number];

export interface DatabaseProps {
  readonly network: Network;
  /** The RDS instance class, without its "db." prefix. */
  readonly databaseClass: string;
  /** How many connections it takes at once. */
  readonly maxConnections: number;
  readonly databaseStorageGiB: number;
  readonly databaseBackupDays: number;
  readonly databaseProtected: boolean;
  readonly highlyAvailable: boolean;
  /** An instance that exists. Default: one is made. */
  readonly existing?: ExistingDatabase | undefined;
}

const DATABASE_NAME = "carillon";
const STORAGE_GROWTH = 5;

/** Postgres on RDS: TLS only, and open to the functions alone, each as its own user by IAM. Made here, or one that exists. */
export class Database extends Construct {
  /** Of the user who owns everything. Only the migration may read it. */
  readonly masterSecret: ISecret;
  private readonly instance: IDatabaseInstance;
  private readonly name: string;

  constructor(scope: Construct, id: string, props: DatabaseProps) {
    super(scope, id);
    const { existing } = props;
    const { instance, securityGroup, masterSecret } =
      existing === undefined ? this.make(props) : importDatabase(this, existing);
    this.instance = instance;
    this.masterSecret = masterSecret;
    this.name = existing?.name ?? DATABASE_NAME;

    const port = existing === undefined ? Port.POSTGRES : Port.tcp(existing.port);
    securityGroup.addIngressRule(props.network.functions, port, "Functions query the database");
    props.network.functions.addEgressRule(securityGroup, port, "Functions query the database");
  }

  /** Encrypted, in no public subnet, and gone with a snapshot alone. */
  private make(props: DatabaseProps): ImportedDatabase {
    const securityGroup = props.network.securityGroup("Database", "Database of Carillon");

    // The major version alone: AWS withdraws minor ones, and a template that names one stops deploying that day.
    const engine = DatabaseInstanceEngine.postgres({ version: PostgresEngineVersion.VER_18 });

    const instance = new DatabaseInstance(this, "Instance", {
      engine,
      instanceType: new InstanceType(props.databaseClass),
      databaseName: DATABASE_NAME,
      vpc: props.network.vpc,
      vpcSubnets: props.network.subnets,
      securityGroups: [securityGroup],
      publiclyAccessible: false,
      multiAz: props.highlyAvailable,

      storageType: StorageType.GP3,
      allocatedStorage: props.databaseStorageGiB,
      maxAllocatedStorage: props.databaseStorageGiB * STORAGE_GROWTH,
      storageEncrypted: true,

      iamAuthentication: true,
      manageMasterUserPassword: true,
      parameterGroup: new ParameterGroup(this, "Parameters", {
        engine,
        description: "Carillon: TLS only; slow statements and lock waits are logged",
        parameters: parameters(props.maxConnections),
      }),

      autoMinorVersionUpgrade: true,
      backupRetention: Duration.days(props.databaseBackupDays),
      copyTagsToSnapshot: true,
      deletionProtection: props.databaseProtected,
      removalPolicy: RemovalPolicy.SNAPSHOT,
    });

    acknowledge(
      instance,
      "RDS11",
      "The database stands in subnets without a way in, and its security group lets in the functions alone: another port would hide it from nobody.",
    );
    if (!props.highlyAvailable)
      acknowledge(
        instance,
        "RDS3",
        "A standby doubles the price of the database; highlyAvailable makes one. Without it nothing is lost while the instance comes back, jobs are late.",
      );
    if (!props.databaseProtected)
      acknowledge(
        instance,
        "RDS10",
        "databaseProtected is switched off, for a deployment that is to be removed. A snapshot stays.",
      );

    // RDS makes and rotates it.
    const { secret } = instance;
    if (secret === undefined) throw new Error("The database has no managed secret for its master user.");
    return { instance, securityGroup, masterSecret: secret };
  }

  /** Lets a function in as this user and as no other, and tells it where. */
  admit(fn: LambdaFunction, user: DatabaseUser): void {
    this.tellWhere(fn);
    fn.addEnvironment("DATABASE_USER", user);
    fn.addEnvironment("DATABASE_AUTH", "iam");
    this.instance.grantConnect(fn, user);
  }

  /** Lets the migration in as the owner of everything. */
  admitOwner(fn: LambdaFunction): void {
    this.tellWhere(fn);
    fn.addEnvironment("DATABASE_SECRET_ARN", this.masterSecret.secretArn);
    this.masterSecret.grantRead(fn);
  }

  /** What RDS measures of it, by RDS's name. */
  metric(name: string, options: MetricOptions): IMetric {
    return this.instance.metric(name, options);
  }

  private tellWhere(fn: LambdaFunction): void {
    fn.addEnvironment("DATABASE_HOST", this.instance.dbInstanceEndpointAddress);
    fn.addEnvironment("DATABASE_PORT", this.instance.dbInstanceEndpointPort);
    fn.addEnvironment("DATABASE_NAME", this.name);
  }
}

/**
 * What the whole server has. Each function's role has limits of its own besides, from the migrations; autovacuum of the busy tables is set
 * with the tables.
 */
function parameters(maxConnections: number): Record<string, string> {
  return {
    // Already RDS's default for this version; a default may change, and this must not.
    "rds.force_ssl": "1",
    // RDS's own formula depends on what it keeps of the memory, which nobody outside knows: the budget is checked against this number.
    max_connections: String(maxConnections),
    // Functions' transactions end after ten seconds. A person who forgets one would keep vacuum from the busy tables for a day.
    idle_in_transaction_session_timeout: "300000",
    // No statement of a function takes a second; what does is worth a line.
    log_min_duration_statement: "1000",
    log_lock_waits: "1",
  };
}
