import { Stack } from "aws-cdk-lib";
import { AnyPrincipal, PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Construct } from "constructs";

/** A right that goes through an endpoint, to resources that may be in other accounts. */
export interface EndpointUse {
  readonly actions: readonly string[];
  readonly resources: readonly string[];
}

/**
 * The policy of an endpoint. Without one, a credential of another account could carry data through it
 * to that account. Roles of this account reach its resources and those of the listed accounts; in
 * all other accounts only the named resources.
 */
export function endpointStatements(
  scope: Construct,
  { accounts, uses }: { accounts: readonly string[]; uses: readonly EndpointUse[] },
): PolicyStatement[] {
  const { account } = Stack.of(scope);
  return [
    new PolicyStatement({
      principals: [new AnyPrincipal()],
      actions: ["*"],
      resources: ["*"],
      conditions: {
        StringEquals: {
          "aws:PrincipalAccount": account,
          "aws:ResourceAccount": [account, ...accounts],
        },
      },
    }),
    ...uses.map((use) => statementFor(scope, use)),
  ];
}

export function statementFor(scope: Construct, { actions, resources }: EndpointUse): PolicyStatement {
  return new PolicyStatement({
    principals: [new AnyPrincipal()],
    actions: [...actions],
    resources: [...resources],
    conditions: { StringEquals: { "aws:PrincipalAccount": Stack.of(scope).account } },
  });
}
