import { z } from "zod";
import { textList, textOrToken, yesOrNo } from "./shapes.ts";

/**
 * The services that functions in the network call, by the names of their endpoints;
 * infra/network/endpoints.ts says which function calls which service.
 */
export const interfaceNames = ["sqs", "events", "lambda", "secretsmanager"] as const;
export type InterfaceName = (typeof interfaceNames)[number];

/** Services that only handlers call. Their endpoints are routes, which cost nothing. */
export const gatewayNames = ["dynamodb", "s3"] as const;
export type GatewayName = (typeof gatewayNames)[number];

const endpointNames = [...interfaceNames, ...gatewayNames] as const;
export type EndpointName = InterfaceName | GatewayName;

/** Lambda's limit of subnets for one function. */
const subnetsMax = 16;

/** The policy of an endpoint has 20 KB, of which the allow-lists need a part. */
const resourceAccountsMax = 50;

/** The network. */
export const networkSettings = {
  /**
   * Whether the database has a standby and the endpoints are in two zones. Both then cost twice as
   * much.
   */
  highlyAvailable: yesOrNo().default(false),
  /**
   * The VPC to use. It needs the settings of its subnets as well, because synthesis makes no
   * lookups. Default: a new network.
   */
  vpcId: textOrToken(
    /^vpc-[0-9a-f]{8,17}$/,
    "it takes the id of a VPC, such as vpc-0123456789abcdef0",
  ).optional(),
  /**
   * The private subnets of that VPC, one in each of two or more zones, for the functions and the
   * database.
   */
  vpcSubnetIds: textList(
    textOrToken(
      /^subnet-[0-9a-f]{8,17}$/,
      "it takes ids of subnets such as subnet-0123456789abcdef0, separated by commas",
    ),
    "one subnet in each zone is enough",
    subnetsMax,
  ),
  /**
   * The zones of these subnets, in the same order. Without `vpcId`: the zones of the new network, two
   * or more, for regions with a zone that lacks an endpoint or the class of the database. Default: the
   * first two of the region. Choose them at the first deployment: a later choice replaces subnets that
   * the database is in, and fails.
   */
  vpcAvailabilityZones: textList(
    z
      .string()
      .regex(/^[a-z]{2}(-[a-z]+)+-\d[a-z]$/, "it takes zones such as eu-central-1a, separated by commas"),
    "one subnet in each zone is enough",
    subnetsMax,
  ),
  /**
   * Whether functions run in a VPC. False, only for an external database: functions run outside of
   * any VPC, reach the internet, and no endpoints are paid for.
   */
  functionsInVpc: yesOrNo().default(true),
  /**
   * The endpoints to make: some of sqs, events, lambda, secretsmanager, dynamodb, s3, or none.
   * Default: the first four in a new network, none in an existing VPC. Those of dynamodb and s3 are
   * for handlers; they are gateways, which cost nothing, and are made only in a new network.
   */
  endpoints: endpoints().optional(),
  /**
   * Other accounts whose resources functions reach through these endpoints, such as a handler's
   * table or bucket. Default: none. Targets that the allow-lists name in other accounts, and the
   * archive, are reached without it.
   */
  resourceAccounts: textList(
    textOrToken(/^\d{12}$/, "it takes ids of accounts with twelve digits, separated by commas"),
    "a deployment seldom needs more than a few",
    resourceAccountsMax,
  ),
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
