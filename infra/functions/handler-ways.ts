import { Annotations, Aspects, type IAspect, Stack } from "aws-cdk-lib";
import { CfnPolicy } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { GatewayName } from "../settings/network.ts";

const services: Readonly<Record<GatewayName, string>> = { dynamodb: "DynamoDB", s3: "S3" };

/**
 * Warns at synth where the role of the handlers has rights in a service that their network does not
 * reach: each call would wait until the job's timeout. Rights may be granted after the construct is
 * made, so they are looked at when all constructs are.
 */
export function warnOfMissingWays(runs: LambdaFunction, missing: readonly GatewayName[]): void {
  const aspect: IAspect = {
    visit: (node) => {
      if (!(node instanceof CfnPolicy)) return;
      const actions = actionsOf(node);
      for (const name of missing)
        if (actions.some((action) => action.startsWith(`${name}:`)))
          Annotations.of(node).addWarningV2(`carillon:endpoint-${name}`, textFor(name));
    },
  };
  if (missing.length > 0 && runs.role !== undefined) Aspects.of(runs.role).add(aspect);
}

function textFor(name: GatewayName): string {
  return `The handlers have rights in ${services[name]}, which Carillon's own network does not reach. Add "${name}" to \`endpoints\`; it costs nothing. The list replaces the default, so it names the others too: ["sqs", "events", "lambda", "secretsmanager", "${name}"].`;
}

function actionsOf(policy: CfnPolicy): string[] {
  const { Statement: statements = [] }: { Statement?: { Action?: unknown }[] } = Object(
    Stack.of(policy).resolve(policy.policyDocument),
  );
  return statements.flatMap(({ Action }) => [Action].flat().filter((action) => typeof action === "string"));
}
