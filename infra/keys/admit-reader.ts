import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { ISecret, Secret } from "aws-cdk-lib/aws-secretsmanager";

/**
 * Grants a function the right to read a secret, and to use its key for that. The CDK's own grant adds
 * the second right to the policy of the key, which is not this stack's where the key is given by its ARN.
 */
export function admitReader(secret: ISecret | Secret, fn: LambdaFunction): void {
  secret.grantRead(fn);
  if (secret.encryptionKey === undefined) return;
  const { region, urlSuffix } = Stack.of(fn);
  fn.addToRolePolicy(
    new PolicyStatement({
      actions: ["kms:Decrypt"],
      resources: [secret.encryptionKey.keyArn],
      conditions: { StringEquals: { "kms:ViaService": `secretsmanager.${region}.${urlSuffix}` } },
    }),
  );
}
