// Written by `npm run settings` from infra/settings/targets.ts; a test compares the two.

/** Targets of schedules. */
export interface TargetsOptions {
  /**
   * The queues that schedules may name. Default: those of this account and region with names that
   * start with `carillon-target-`.
   */
  readonly targetQueueArns?: readonly string[] | undefined;
  /** The event buses that schedules may name. Default: the default bus of this account and region. */
  readonly targetBusArns?: readonly string[] | undefined;
  /**
   * The sources that events of schedules may have; a `*` at the end stands for all that begin so.
   * Default: `carillon`, which a list has to name itself.
   */
  readonly targetEventSources?: readonly string[] | undefined;
  /**
   * The Lambda functions that schedules may name. Default: those of this account and region with
   * names that start with `carillon-target-`.
   */
  readonly targetFunctionArns?: readonly string[] | undefined;
  /**
   * The targets that only schedules of some keys may name, each behind the prefix of these keys:
   * `billing:=queue/billing-*`. Kinds are `queue`, `bus`, `source`, `function` and `handler`; a name
   * may end in `*`. Without an entry, schedules of all keys may name a target.
   */
  readonly targetPrefixes?: readonly string[] | undefined;
  /**
   * Public networks that webhooks must not reach, such as your own offices'. Private networks are
   * never reachable.
   */
  readonly webhookDenyNetworks?: readonly string[] | undefined;
}
