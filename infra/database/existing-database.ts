import { SecurityGroup } from "aws-cdk-lib/aws-ec2";
import { DatabaseInstance } from "aws-cdk-lib/aws-rds";
import type { Construct } from "constructs";
import type { OwnKeys } from "../keys/own-keys.ts";
import type { Settings } from "../settings.ts";
import { admitByIam, type DatabaseServer } from "./database-server.ts";
import { existingDescription } from "./database-settings.ts";
import { givenSecret } from "./given-secret.ts";

/** An existing RDS instance. The template does not manage the instance. */
export function existingDatabase(scope: Construct, settings: Settings, { secrets }: OwnKeys): DatabaseServer {
  const known = existingDescription.parse(settings);
  const securityGroup = SecurityGroup.fromSecurityGroupId(
    scope,
    "SecurityGroup",
    known.databaseSecurityGroupId,
  );
  const instance = DatabaseInstance.fromDatabaseInstanceAttributes(scope, "Instance", {
    instanceIdentifier: known.databaseInstanceId,
    instanceEndpointAddress: known.databaseHost,
    port: settings.databasePort,
    instanceResourceId: known.databaseResourceId,
    securityGroups: [securityGroup],
  });
  return {
    host: known.databaseHost,
    port: String(settings.databasePort),
    name: settings.databaseName,
    masterSecret: givenSecret(scope, known.databaseSecretArn, secrets),
    way: { to: securityGroup, port: settings.databasePort },
    admit: (fn, user) => admitByIam(instance, fn, user),
    metrics: { kind: "instance", of: (name, options) => instance.metric(name, options) },
  };
}
