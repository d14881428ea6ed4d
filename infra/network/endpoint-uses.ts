import type { TargetAllowList } from "../functions/target-allow-list.ts";
import type { Settings } from "../settings.ts";
import type { NetworkProps } from "./network.ts";

/** The uses of endpoints that may lead to other accounts. */
export function endpointUses(
  { databaseSecretArn }: Settings,
  targets: TargetAllowList,
): NetworkProps["uses"] {
  if (databaseSecretArn === undefined) return targets.uses;
  const actions = ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"];
  return { ...targets.uses, secretsmanager: { actions, resources: [databaseSecretArn] } };
}
