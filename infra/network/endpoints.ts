import { InterfaceVpcEndpointAwsService } from "aws-cdk-lib/aws-ec2";
import type { LifecycleEvent } from "../../lib/config/lifecycle-events.ts";
import { type EndpointName, endpointNames } from "../settings/network.ts";

interface Endpoint {
  readonly id: string;
  readonly service: InterfaceVpcEndpointAwsService;
}

/** Each costs some seven dollars a month and zone: here is who calls what, and so what is lost without it. */
export const endpoints: Readonly<Record<EndpointName, Endpoint>> = {
  /** API, tick, ingest and workers send parcels; the fast worker delivers to queues. */
  sqs: { id: "Sqs", service: InterfaceVpcEndpointAwsService.SQS },
  /** The fast worker delivers to event buses; tick and workers tell of jobs that ended. */
  events: { id: "EventBridge", service: InterfaceVpcEndpointAwsService.EVENTBRIDGE },
  /** The slow worker invokes functions, and among them the one outside of the network that sends webhooks. */
  lambda: { id: "Lambda", service: InterfaceVpcEndpointAwsService.LAMBDA },
  /** The migration reads the master user's password and the first admin token; functions read a secret where an external database lets them in by passwords. */
  secretsmanager: { id: "SecretsManager", service: InterfaceVpcEndpointAwsService.SECRETS_MANAGER },
};

export interface EndpointsWanted {
  /** The endpoints to make. Default: all in a network of our own, none in a VPC that is brought, which has its own ways. */
  readonly endpoints?: readonly EndpointName[] | undefined;
  /** Whether the network is one that has no other way out. */
  readonly ownNetwork: boolean;
  /** What the event bus is told. */
  readonly lifecycleEvents: readonly LifecycleEvent[];
}

/** Which endpoints are made; refuses a choice with which a deployment would hang, or what is always on would never arrive. */
export function chosenEndpoints(wanted: EndpointsWanted): readonly EndpointName[] {
  const { endpoints: chosen = wanted.ownNetwork ? endpointNames : [], ownNetwork } = wanted;
  if (!ownNetwork) return chosen;
  const always: EndpointName[] = ["sqs", "secretsmanager"];
  const missing = always.filter((name) => !chosen.includes(name));
  if (missing.length > 0) {
    throw new Error(
      `endpoints: ${missing.join(" and ")} cannot be left out of a network that has no other way out; parcels go through sqs, and the migration reads its secrets through secretsmanager`,
    );
  }
  if (!chosen.includes("events") && wanted.lifecycleEvents.length > 0) {
    throw new Error(
      "endpoints: events can only be left out together with what is told through it; set lifecycleEvents to none",
    );
  }
  return chosen;
}
