// Written by `npm run settings` from infra/settings/network.ts; a test compares the two.

/** The network. */
export interface NetworkOptions {
  /**
   * Whether the database has a standby and the endpoints are in two zones. Both then cost twice as
   * much.
   *
   * @default false
   */
  readonly highlyAvailable?: boolean | undefined;
  /**
   * The VPC to use. It needs the settings of its subnets as well, because synthesis makes no
   * lookups. Default: a new network.
   */
  readonly vpcId?: string | undefined;
  /**
   * The private subnets of that VPC, one in each of two or more zones, for the functions and the
   * database.
   */
  readonly vpcSubnetIds?: readonly string[] | undefined;
  /**
   * The zones of these subnets, in the same order. Without `vpcId`: the zones of the new network,
   * two or more, for regions with a zone that lacks an endpoint or the class of the database.
   * Default: the first two of the region. Choose them at the first deployment: a later choice
   * replaces subnets that the database is in, and fails.
   */
  readonly vpcAvailabilityZones?: readonly string[] | undefined;
  /**
   * Whether functions run in a VPC. False, only for an external database: functions run outside of
   * any VPC, reach the internet, and no endpoints are paid for.
   *
   * @default true
   */
  readonly functionsInVpc?: boolean | undefined;
  /**
   * The endpoints to make: some of sqs, events, lambda, secretsmanager, dynamodb, s3, or none.
   * Default: the first four in a new network, none in an existing VPC. Those of dynamodb and s3 are
   * for handlers; they are gateways, which cost nothing, and are made only in a new network.
   */
  readonly endpoints?:
    | readonly ("sqs" | "events" | "lambda" | "secretsmanager" | "dynamodb" | "s3")[]
    | undefined;
  /**
   * Other accounts whose resources functions reach through these endpoints, such as a handler's
   * table or bucket. Default: none. Targets that the allow-lists name in other accounts, and the
   * archive, are reached without it.
   */
  readonly resourceAccounts?: readonly string[] | undefined;
}
