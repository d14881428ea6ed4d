import path from "node:path";
import { CustomResource, Duration, FileSystem, RemovalPolicy } from "aws-cdk-lib";
import { Role, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import { LogGroup, type RetentionDays } from "aws-cdk-lib/aws-logs";
import { Secret } from "aws-cdk-lib/aws-secretsmanager";
import { Provider } from "aws-cdk-lib/custom-resources";
import { Construct } from "constructs";
import { migrationTime } from "../../lib/config/migration-time.ts";
import { CarillonFunction } from "../functions/carillon-function.ts";
import type { FunctionCode } from "../functions/function-code.ts";
import type { WebhookSender } from "../functions/webhook-sender.ts";
import { admitReader } from "../keys/admit-reader.ts";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Network } from "../network/network.ts";
import { packageRoot } from "../package-root.ts";
import type { Settings } from "../settings.ts";
import { acknowledge, acknowledgeWildcards } from "../watch/acknowledge.ts";
import { type BudgetSettings, connectionsBesideApi } from "./connection-budget.ts";
import type { Database } from "./database.ts";

export interface MigrationProps {
  readonly network: Network;
  readonly database: Database;
  readonly webhooks: WebhookSender;
  readonly keys: OwnKeys;
  readonly settings: Pick<Settings, "quotas" | "prefixWeights" | "databaseMayBeEmpty"> & BudgetSettings;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** Lambda's longest timeout. The next call continues a migration that takes longer. */
const CALL_TIMEOUT = Duration.minutes(15);
/** CloudFormation's longest wait. */
const DEPLOYMENT_TIMEOUT = Duration.minutes(migrationTime.deploymentMinutes);
const migrations = path.join(packageRoot, "migrations");

/**
 * Migrates the database to this release in each deployment, before any function that queries. It
 * also gives the users their logins and creates the first admin token. Every construct that queries
 * depends on this one.
 */
export class Migration extends Construct {
  /** The first admin token, generated here once. It is in no template, variable or log. */
  readonly adminToken: Secret;

  constructor(scope: Construct, id: string, props: MigrationProps) {
    super(scope, id);

    this.adminToken = new Secret(this, "AdminToken", {
      description: "Carillon: the first admin token of the API",
      generateSecretString: { passwordLength: 48, excludePunctuation: true },
      ...(props.keys.secrets && { encryptionKey: props.keys.secrets }),
    });
    acknowledge(
      this.adminToken,
      "SMG4",
      "A scheduled rotation would lock out the token's users. It is rotated through the API, with an overlap, or replaced by narrower tokens and deleted.",
    );

    const fn = new CarillonFunction(this, "Function", {
      entry: "migrate",
      code: props.code,
      description: "Carillon: brings the database to this release",
      network: props.network,
      timeout: CALL_TIMEOUT,
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
    admitReader(this.adminToken, fn);
    // The first key for credentials of webhooks is made here, before any function that seals.
    props.webhooks.admitSender(fn);

    const providerLogs = new LogGroup(this, "ProviderLogs", {
      retention: props.logRetention,
      removalPolicy: RemovalPolicy.DESTROY,
    });
    // The provider is outside of the VPC: it reports to CloudFormation even when the function could
    // not start.
    const provider = new Provider(this, "Provider", {
      onEventHandler: fn,
      // The same function: the event says whether this is a repeated call, and there is one log to
      // read.
      isCompleteHandler: fn,
      queryInterval: Duration.seconds(migrationTime.pauseSeconds),
      totalTimeout: DEPLOYMENT_TIMEOUT,
      logGroup: providerLogs,
      frameworkOnEventRole: this.providerRole("ProviderRole", fn, providerLogs),
      frameworkCompleteAndTimeoutRole: this.providerRole("ProviderWaitRole", fn, providerLogs),
    });
    acknowledgeWaiting(provider);
    const { quotas, prefixWeights, databaseMayBeEmpty } = props.settings;
    const connections = connectionsBesideApi(props.settings);
    const applied = new CustomResource(this, "Applied", {
      resourceType: "Custom::CarillonMigration",
      serviceToken: provider.serviceToken,
      serviceTimeout: DEPLOYMENT_TIMEOUT,
      // CloudFormation calls the function only when a property changes.
      properties: {
        migrations: FileSystem.fingerprint(migrations),
        adminTokenSecret: this.adminToken.secretArn,
        logins: props.database.logins,
        ...(quotas.length === 0 ? {} : { quotas }),
        ...(prefixWeights.length === 0 ? {} : { prefixWeights }),
        database: props.database.address,
        ...(databaseMayBeEmpty ? { mayBeEmpty: "true" } : {}),
        ...(connections && { connections }),
      },
    });
    // Nothing references the endpoint that the function reads its secret through, the instance of a
    // cluster, or the rules that open the network, so these are named as dependencies.
    applied.node.addDependency(props.network, props.database);
  }

  private providerRole(id: string, fn: CarillonFunction, logs: LogGroup): Role {
    const role = new Role(this, id, { assumedBy: new ServicePrincipal("lambda.amazonaws.com") });
    logs.grantWrite(role);
    acknowledgeWildcards(
      role,
      [`${fn.functionArn}:*`],
      "The CDK's framework for custom resources allows itself to invoke versions of the function; there are none.",
    );
    return role;
  }
}

/** The state machine with which the CDK's framework waits between two calls. */
function acknowledgeWaiting(provider: Provider): void {
  const waiting = provider.node.findChild("waiter-state-machine");
  const both = ["framework-isComplete", "framework-onTimeout"].map((id) => provider.node.findChild(id));
  acknowledgeWildcards(
    waiting,
    both.flatMap((each) => (each instanceof LambdaFunction ? [`${each.functionArn}:*`] : [])),
    "The CDK's framework for custom resources allows its state machine to invoke versions of its functions; there are none.",
  );
  acknowledge(waiting, "SF1", "It has one step, and the two functions that it calls log what they do.");
  acknowledge(waiting, "SF2", "It has one step, which calls one function: a trace would show nothing else.");
}
