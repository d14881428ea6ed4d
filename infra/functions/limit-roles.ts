import { Token } from "aws-cdk-lib";
import { ManagedPolicy, PermissionsBoundary } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

/**
 * Sets the permissions boundary of every role below a construct, also of roles that the CDK makes
 * for its own functions and that an app adds later.
 */
export function limitRoles(scope: Construct, boundary: string | undefined): void {
  if (boundary === undefined) return;
  // A token is an ARN: that of a policy which the app makes.
  const isArn = Token.isUnresolved(boundary) || boundary.startsWith("arn:");
  const policy = isArn
    ? ManagedPolicy.fromManagedPolicyArn(scope, "PermissionsBoundary", boundary)
    : ManagedPolicy.fromManagedPolicyName(scope, "PermissionsBoundary", boundary);
  PermissionsBoundary.of(scope).apply(policy);
}
