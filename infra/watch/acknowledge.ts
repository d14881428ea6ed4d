import { Stack, Validations } from "aws-cdk-lib";
import type { IConstruct } from "constructs";

/**
 * Says why a rule of AWS Solutions is not followed by a construct or by what is in it. The CDK keeps it as metadata: whoever checks an app
 * with cdk-nag is told the reason instead of the finding, and nobody else needs cdk-nag.
 */
export function acknowledge(construct: IConstruct, rule: string, reason: string): void {
  Validations.of(construct).acknowledge({ id: `AwsSolutions-${rule}`, reason });
}

/** The same for resources of a policy that end in a wildcard: each is a finding of its own, so that no further one hides behind it. */
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
