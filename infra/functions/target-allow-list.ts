import { Stack } from "aws-cdk-lib";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { Function as LambdaFunction } from "aws-cdk-lib/aws-lambda";
import type { Construct } from "constructs";
import { eventSourcesByDefault } from "../../lib/config/target-settings.ts";
import type { EndpointUse } from "../network/endpoint-policy.ts";
import { eventsOfSources } from "../queues/events-of-sources.ts";
import type { InterfaceName } from "../settings/network.ts";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";

export interface TargetAllowListProps {
  /** Empty: the queues of this account and region with names that start with `carillon-target-`. */
  readonly queueArns: readonly string[];
  /** Empty: the default bus of this account and region. */
  readonly busArns: readonly string[];
  /** Empty: `carillon` alone. */
  readonly eventSources: readonly string[];
  /**
   * Empty: the functions of this account and region with names that start with `carillon-target-`.
   */
  readonly functionArns: readonly string[];
  /** The targets that only schedules of some keys may name. */
  readonly prefixes: readonly string[];
}

/**
 * The targets that schedules may name. A caller that may write a schedule acts with the workers'
 * rights, so the targets are fixed by the deployment. The prefix of the defaults is one that no
 * existing resource has by accident. The API gets the same list, and refuses targets that could
 * never be delivered to.
 */
export class TargetAllowList {
  private readonly queues: string[];
  private readonly buses: string[];
  private readonly sources: readonly string[];
  private readonly functions: string[];
  private readonly prefixes: readonly string[];
  private readonly account: string;

  constructor(scope: Construct, props: TargetAllowListProps) {
    const { queueArns, busArns, eventSources, functionArns } = props;
    const stack = Stack.of(scope);
    const orDefault = (arns: readonly string[], byDefault: string) =>
      arns.length > 0 ? [...arns] : [byDefault];
    this.queues = orDefault(queueArns, stack.formatArn({ service: "sqs", resource: "carillon-target-*" }));
    this.buses = orDefault(
      busArns,
      stack.formatArn({ service: "events", resource: "event-bus", resourceName: "default" }),
    );
    this.sources = eventSources.length > 0 ? eventSources : eventSourcesByDefault;
    this.functions = orDefault(
      functionArns,
      `arn:${stack.partition}:lambda:${stack.region}:${stack.account}:function:carillon-target-*`,
    );
    this.prefixes = props.prefixes;
    this.account = stack.account;
  }

  /** The rights of workers on targets, each with the endpoint that it goes through. */
  get uses(): Readonly<Record<Exclude<InterfaceName, "secretsmanager">, EndpointUse>> {
    const qualified = this.functions.filter((arn) => !arn.endsWith("*")).map((arn) => `${arn}:*`);
    return {
      sqs: { actions: ["sqs:SendMessage", "sqs:GetQueueUrl"], resources: this.queues },
      events: { actions: ["events:PutEvents"], resources: this.buses },
      lambda: { actions: ["lambda:InvokeFunction"], resources: [...this.functions, ...qualified] },
    };
  }

  /**
   * Grants a function that delivers to queues and buses the right to send to them. It gets the sources
   * as well, to refuse stored targets that IAM would refuse at every attempt.
   */
  admitSender(fn: LambdaFunction): void {
    const { sqs, events } = this.uses;
    grant(fn, sqs);
    grant(fn, events, eventsOfSources(this.sources));
    this.tellSources(fn);
    this.tellPrefixes(fn);
  }

  /**
   * Grants a function that delivers the right to invoke the listed functions; versions and aliases are
   * separate resources.
   */
  admitInvoker(fn: LambdaFunction): void {
    grant(fn, this.uses.lambda);
    this.tellPrefixes(fn);
  }

  /** Names without an ARN mean this account; every function knows its region. */
  tell(fn: LambdaFunction): void {
    fn.addEnvironment("TARGET_ACCOUNT", this.account);
    fn.addEnvironment("TARGET_QUEUES", this.queues.join(","));
    fn.addEnvironment("TARGET_BUSES", this.buses.join(","));
    fn.addEnvironment("TARGET_FUNCTIONS", this.functions.join(","));
    this.tellSources(fn);
    this.tellPrefixes(fn);
  }

  /** One per line: a prefix may contain a comma. */
  private tellPrefixes(fn: LambdaFunction): void {
    if (this.prefixes.length > 0) fn.addEnvironment("TARGET_PREFIXES", this.prefixes.join("\n"));
  }

  private tellSources(fn: LambdaFunction): void {
    fn.addEnvironment("CARILLON_TARGET_EVENT_SOURCES", this.sources.join(","));
  }
}

function grant(
  fn: LambdaFunction,
  { actions, resources }: EndpointUse,
  conditions: Record<string, unknown> = {},
): void {
  fn.addToRolePolicy(new PolicyStatement({ actions: [...actions], resources: [...resources], conditions }));
  acknowledgeWildcards(
    fn.role ?? fn,
    resources,
    "Schedules name their targets later: the deployment limits them, by name or by the beginning of the name. A function's versions and aliases are included.",
  );
}
