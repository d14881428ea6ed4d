import type { RemovalPolicy } from "aws-cdk-lib";
import type { ScheduleBody } from "../../lib/client/schedule.ts";

/** A deployment of Carillon that keeps schedules of stacks. */
export interface ScheduleHome {
  /**
   * The service token of its custom resource; of a Carillon in another app, its output
   * `ScheduleServiceToken`.
   */
  readonly scheduleServiceToken: string;
}

/** A schedule with the fields that the API takes; of them only `when` and `target` are required. */
export interface ScheduleProps extends ScheduleBody {
  /**
   * The deployment that gets the schedule: a `Carillon` of this app, or the service token of another
   * one.
   */
  readonly carillon: ScheduleHome;
  /** The key. With another key, the new schedule is made before the old one is deleted. */
  readonly key: string;
  /**
   * Whether an existing schedule of this key is taken over. Default: the deployment fails where
   * another stack, `carillon apply` or a person made it.
   */
  readonly takeOver?: boolean;
  /**
   * The fate of the schedule when it is removed from the stack, or gets another key. Default: it is
   * deleted. `RETAIN` keeps it, and it goes on running.
   */
  readonly removalPolicy?: RemovalPolicy;
}
