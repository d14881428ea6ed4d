import { GatewayVpcEndpointAwsService, InterfaceVpcEndpointAwsService } from "aws-cdk-lib/aws-ec2";
import type { LifecycleEvent } from "../../lib/config/lifecycle-events.ts";
import {
  type EndpointName,
  type GatewayName,
  gatewayNames,
  type InterfaceName,
  interfaceNames,
} from "../settings/network.ts";

interface Endpoint {
  readonly id: string;
  readonly service: InterfaceVpcEndpointAwsService;
}

/**
 * Each of these endpoints costs about seven dollars per month and zone. The comments say which function calls
 * the service, and so what fails without it.
 */
export const interfaces: Readonly<Record<InterfaceName, Endpoint>> = {
  /** API, tick, ingest and workers send parcels; the fast worker delivers to queues. */
  sqs: { id: "Sqs", service: InterfaceVpcEndpointAwsService.SQS },
  /**
   * The fast worker delivers to event buses; the tick and the workers publish events of jobs that
   * ended.
   */
  events: { id: "EventBridge", service: InterfaceVpcEndpointAwsService.EVENTBRIDGE },
  /**
   * The slow worker invokes functions, including the sender of webhooks, which is outside of the
   * network.
   */
  lambda: { id: "Lambda", service: InterfaceVpcEndpointAwsService.LAMBDA },
  /**
   * The migration reads the master user's password and the first admin token. Functions read a
   * secret when an external database authenticates them by password.
   */
  secretsmanager: { id: "SecretsManager", service: InterfaceVpcEndpointAwsService.SECRETS_MANAGER },
};

/** Gateways are routes, and cost nothing. They are for handlers. */
export const gateways = {
  dynamodb: { id: "DynamoDb", service: GatewayVpcEndpointAwsService.DYNAMODB },
  s3: { id: "S3", service: GatewayVpcEndpointAwsService.S3 },
} as const satisfies Record<GatewayName, { id: string; service: GatewayVpcEndpointAwsService }>;

export interface EndpointsWanted {
  /**
   * The endpoints to make. Default: all interfaces in a network that is made here, none in an
   * existing VPC, which has its own routes.
   */
  readonly endpoints?: readonly EndpointName[] | undefined;
  /** Whether the network has no other way out. */
  readonly ownNetwork: boolean;
  /** The events of jobs that are published to the event bus. */
  readonly lifecycleEvents: readonly LifecycleEvent[];
}

export interface EndpointsChosen {
  readonly interfaces: readonly InterfaceName[];
  readonly gateways: readonly GatewayName[];
}

/**
 * The endpoints to make. Refuses a choice with which the deployment would hang, or with which
 * events that are on would never arrive.
 */
export function chosenEndpoints(wanted: EndpointsWanted): EndpointsChosen {
  const { endpoints: names = wanted.ownNetwork ? interfaceNames : [] } = wanted;
  const chosen = {
    interfaces: interfaceNames.filter((name) => names.includes(name)),
    gateways: gatewayNames.filter((name) => names.includes(name)),
  };
  refuseChoice(wanted, chosen);
  return chosen;
}

function refuseChoice(
  wanted: EndpointsWanted,
  { interfaces: chosen, gateways: ways }: EndpointsChosen,
): void {
  if (!wanted.ownNetwork) {
    if (ways.length === 0) return;
    throw new Error(
      `endpoints: ${ways.join(" and ")} cannot be made in an existing VPC, because they are routes in its route tables; add them to the VPC itself`,
    );
  }
  const always: InterfaceName[] = ["sqs", "secretsmanager"];
  const missing = always.filter((name) => !chosen.includes(name));
  if (missing.length > 0) {
    throw new Error(
      `endpoints: ${missing.join(" and ")} cannot be left out of a network without another way out; parcels go through sqs, and the migration reads its secrets through secretsmanager`,
    );
  }
  if (!chosen.includes("events") && wanted.lifecycleEvents.length > 0) {
    throw new Error(
      "endpoints: events can only be left out when no events of jobs are published; set lifecycleEvents to none",
    );
  }
}
