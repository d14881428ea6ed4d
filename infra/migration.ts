import { fileURLToPath } from "node:url";
import { CustomResource, Duration, FileSystem, RemovalPolicy } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Provider } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import { acknowledge, acknowledgeWildcards } from "./acknowledge.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { Database } from "./database.ts";
import type { FunctionCode } from "./function-code.ts";
import type { Network } from "./network.ts";

export interface MigrationProps {
  readonly network: Network;
  readonly database: Database;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** As long as Lambda allows: a migration that is cut off has done nothing, and is tried again by the next deployment. */
const TIMEOUT = Duration.minutes(15);
const migrations = fileURLToPath(new URL("../migrations", import.meta.url));

/**
 * Brings the database to this release, in the course of each deployment and before anything that queries; and gives it its users' logins
 * and the first admin token. Whatever queries depends on this construct.
 */
export class Migration extends Construct {
  /** The first admin token, made here once. It stands in no template, no variable and no log. */
  readonly adminToken: Secret;

  constructor(scope: Construct, id: string, props: MigrationProps) {
    super(scope, id);

    this.adminToken = new Secret(this, "AdminToken", {
      description: "Carillon: the first admin token of the API",
      generateSecretString: { passwordLength: 48, excludePunctuation: true },
    });
    acknowledge(
      this.adminToken,
      "SMG4",
      "Whoever uses the token would be locked out by a new one on a fixed day. It is rotated through the API, with an overlap, or replaced by tokens of less reach and deleted.",
    );

    const fn = new CarillonFunction(this, "Function", {
      entry: "migrate",
      code: props.code,
      description: "Carillon: brings the database to this release",
      network: props.network,
      timeout: TIMEOUT,
      memoryMiB: 512,
      logRetention: props.logRetention,
      commandHooks: {
        beforeBundling: () => [],
        beforeInstall: () => [],
        afterBundling: (_input, output) => [`cp -R "${migrations}" "${output}/migrations"`],
      },
    });
    fn.addEnvironment("MIGRATIONS_DIRECTORY", "/var/task/migrations");
    props.database.admitOwner(fn);
    this.adminToken.grantRead(fn);

    const providerLogs = new LogGroup(this, "ProviderLogs", {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    const providerRole = new Role(this, "ProviderRole", {
      assumedBy: new ServicePrincipal("lambda.amazonaws.com"),
    });
    providerLogs.grantWrite(providerRole);
    acknowledgeWildcards(
      providerRole,
      [`${fn.functionArn}:*`],
      "The CDK's framework for custom resources lets itself invoke the versions of the function, of which there are none.",
    );
    // Outside the network: it tells CloudFormation how it went also when the function could not even start.
    const provider = new Provider(this, "Provider", {
      onEventHandler: fn,
      logGroup: providerLogs,
      frameworkOnEventRole: providerRole,
    });
    const applied = new CustomResource(this, "Applied", {
      resourceType: "Custom::CarillonMigration",
      serviceToken: provider.serviceToken,
      serviceTimeout: TIMEOUT,
      // CloudFormation calls only when a property changes.
      properties: {
        migrations: FileSystem.fingerprint(migrations),
        adminTokenSecret: this.adminToken.secretArn,
        logins: props.database.logins,
      },
    });
    // The function reads its secret through an endpoint, to which no reference leads.
    applied.node.addDependency(props.network);
  }
}
