import { z } from "zod";
import { textList, textOrToken, yesOrNo } from "./shapes.ts";

/** The services that functions in the network call, by the names of their endpoints; infra/network/endpoints.ts says who calls which. */
export const endpointNames = ["sqs", "events", "lambda", "secretsmanager"] as const;
export type EndpointName = (typeof endpointNames)[number];

/** As many subnets as a Lambda function may stand in. */
const subnetsMax = 16;

/** The network. */
export const networkSettings = {
  /** Whether the database has a standby and the endpoints stand in two zones. Both then cost twice as much. */
  highlyAvailable: yesOrNo().default(false),
  /** The VPC to stand in; it is named with its subnets, since a synthesis asks nobody. None given: one of our own. */
  vpcId: textOrToken(
    /^vpc-[0-9a-f]{8,17}$/,
    "it takes the id of a VPC, such as vpc-0123456789abcdef0",
  ).optional(),
  /** The private subnets of that VPC, one in each of two or more zones, for the functions and the database. */
  vpcSubnetIds: textList(
    textOrToken(
      /^subnet-[0-9a-f]{8,17}$/,
      "it takes ids of subnets such as subnet-0123456789abcdef0, separated by commas",
    ),
    "one subnet in each zone is enough",
    subnetsMax,
  ),
  /** The zones of these subnets, in the same order. */
  vpcAvailabilityZones: textList(
    z
      .string()
      .regex(/^[a-z]{2}(-[a-z]+)+-\d[a-z]$/, "it takes zones such as eu-central-1a, separated by commas"),
    "one subnet in each zone is enough",
    subnetsMax,
  ),
  /** Whether functions stand in a VPC. False, for an external database alone: outside of any, where they reach the internet, and nothing is paid for endpoints. */
  functionsInVpc: yesOrNo().default(true),
  /** The interface endpoints to make: some of sqs, events, lambda, secretsmanager, or none. None given: all of them in a network of our own, none in a VPC that is brought. */
  endpoints: endpoints().optional(),
};

function endpoints() {
  const takes = `it takes some of ${endpointNames.join(", ")}, separated by commas, or none`;
  return z
    .union(
      [
        z.array(z.string()),
        z.string().transform((text) => (text === "none" ? [] : text.split(",").map((one) => one.trim()))),
      ],
      takes,
    )
    .pipe(z.array(z.enum(endpointNames, takes)).transform((names) => [...new Set(names)]));
}
