import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { Database } from "../database/database.ts";
import type { Network } from "../network/network.ts";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { Metrics } from "../watch/metrics.ts";
import { type ArchivePlace, archivedObjects, archiveStatement } from "./archive-place.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";
import type { Tick } from "./tick.ts";

export interface ArchiveProps {
  readonly place: ArchivePlace;
  readonly network: Network;
  readonly database: Database;
  /** It drops a day only when the archive has it, and tells how long one has waited for that. */
  readonly tick: Tick;
  readonly jobRetentionDays: number;
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** A day comes once a day; what one invocation does not get through, the next goes on with. */
const EVERY = Duration.hours(1);
const LAG_MAX = Duration.days(1);

/** Brings the jobs of days whose time has come into a bucket, before the tick drops them. */
export class Archive extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, props: ArchiveProps) {
    super(scope, id);
    const { place, tick } = props;
    const fn = new CarillonFunction(this, "Function", {
      entry: "archive",
      code: props.code,
      description: "Carillon: brings days of jobs into the archive before they are dropped",
      network: props.network,
      timeout: Duration.seconds(functionTimeoutSeconds.archive),
      memoryMiB: 1_024,
      logRetention: props.logRetention,
    });
    this.fn = fn;
    props.database.admit(fn, "carillon_archive");
    fn.addEnvironment("ARCHIVE_BUCKET", place.bucket);
    fn.addEnvironment("ARCHIVE_PREFIX", place.prefix);
    fn.addEnvironment("RETENTION_DAYS", String(props.jobRetentionDays));
    fn.addToRolePolicy(archiveStatement(this, place));
    acknowledgeWildcards(
      fn.role ?? fn,
      [archivedObjects(this, place)],
      "Each day has objects of its own, under one prefix; there they may be put, and neither read nor deleted.",
    );
    tick.fn.addEnvironment("ARCHIVES", "true");

    // The next hour's does what this one did not.
    fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: EVERY });
    new Rule(this, "EachHour", {
      description: "Archives days of jobs whose time has come",
      schedule: Schedule.rate(EVERY),
      targets: [new LambdaFunction(fn, { retryAttempts: 0, maxEventAge: EVERY })],
    });
    props.alarms.whenAbove(this, "Behind", LAG_MAX.toMilliseconds(), {
      metric: props.metrics.ofTick("ArchiveLagMs", { statistic: "Maximum", period: Duration.minutes(5) }),
      periods: 3,
      description:
        "A day of jobs could have been dropped a day ago, and the archive does not have it: it stays in the database, and so does each one after it. Look at the log of the function that archives.",
    });
  }
}
