import { Stack, Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/**
 * Records why a construct, or a resource in it, does not follow a rule of AWS Solutions. The CDK
 * keeps the reason as metadata: cdk-nag then shows the reason instead of the finding, and apps
 * without cdk-nag are not affected.
 */
export function acknowledge(construct: IConstruct, rule: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: `AwsSolutions-${rule}`, reason });
}

/**
 * Records the reason for the resources of a policy that end in a wildcard. Each is acknowledged by
 * itself, so that a new wildcard is not hidden.
 */
export function acknowledgeWildcards(
  construct: IConstruct,
  resources: readonly string[],
  reason: string,
): void {
  const stack = Stack.of(construct);
  for (const resource of resources) {
    const shown = asShown(stack.resolve(resource));
    if (shown.includes("*")) acknowledge(construct, `IAM5[Resource::${shown}]`, reason);
  }
}

/** A resource as cdk-nag names it in its findings. */
function asShown(resource: unknown): string {
  if (typeof resource !== "object" || resource === null) return String(resource);
  const [[kind, inside] = ["", undefined]] = Object.entries(resource);
  if (kind === "Fn::Join" && Array.isArray(inside)) return inside[1].map(asShown).join(inside[0]);
  if (kind === "Fn::GetAtt" && Array.isArray(inside)) return `<${inside.map(asShown).join(".")}>`;
  if (kind === "Ref") return `<${inside}>`;
  return JSON.stringify(resource);
}
