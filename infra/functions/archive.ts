import { Duration } from "aws-cdk-lib";
import { Rule, Schedule } from "aws-cdk-lib/aws-events";
import { LambdaFunction } from "aws-cdk-lib/aws-events-targets";
import { PolicyStatement } from "aws-cdk-lib/aws-iam";
import type { RetentionDays } from "aws-cdk-lib/aws-logs";
import { Construct } from "constructs";
import { functionTimeoutSeconds } from "../../lib/config/function-limits.ts";
import type { Database } from "../database/database.ts";
import type { Network } from "../network/network.ts";
import { acknowledgeWildcards } from "../watch/acknowledge.ts";
import type { Alarms } from "../watch/alarms.ts";
import type { Metrics } from "../watch/metrics.ts";
import { type ArchivePlace, archiveUse } from "./archive-place.ts";
import { CarillonFunction } from "./carillon-function.ts";
import type { FunctionCode } from "./function-code.ts";
import type { Tick } from "./tick.ts";

export interface ArchiveProps {
  readonly place: ArchivePlace;
  readonly network: Network;
  readonly database: Database;
  /**
   * The tick drops a day only when the archive has it, and reports how long a day has waited for
   * that.
   */
  readonly tick: Tick;
  readonly jobRetentionDays: number;
  readonly alarms: Alarms;
  readonly metrics: Metrics;
  readonly logRetention: RetentionDays;
  readonly code: FunctionCode;
}

/** A day becomes due once a day; the next invocation continues where one ran out of time. */
const EVERY = Duration.hours(1);
const LAG_MAX = Duration.days(1);

/** Copies the jobs of days past retention into a bucket, before the tick drops the days. */
export class Archive extends Construct {
  readonly fn: CarillonFunction;

  constructor(scope: Construct, id: string, props: ArchiveProps) {
    super(scope, id);
    const { place, tick } = props;
    const fn = new CarillonFunction(this, "Function", {
      entry: "archive",
      code: props.code,
      description: "Carillon: copies days of jobs into the archive before they are dropped",
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
    const { actions, resources } = archiveUse(this, place);
    fn.addToRolePolicy(new PolicyStatement({ actions: [...actions], resources: [...resources] }));
    acknowledgeWildcards(
      fn.role ?? fn,
      resources,
      "Each day has its own objects under one prefix; the function may put them, and neither read nor delete any.",
    );
    tick.fn.addEnvironment("ARCHIVES", "true");

    // No retry: the next hour's run does the same work.
    fn.configureAsyncInvoke({ retryAttempts: 0, maxEventAge: EVERY });
    new Rule(this, "EachHour", {
      description: "Archives days of jobs that are past their retention",
      schedule: Schedule.rate(EVERY),
      targets: [new LambdaFunction(fn, { retryAttempts: 0, maxEventAge: EVERY })],
    });
    props.alarms.whenAbove(this, "Behind", LAG_MAX.toMilliseconds(), {
      metric: props.metrics.ofTick("ArchiveLagMs", { statistic: "Maximum", period: Duration.minutes(5) }),
      periods: 3,
      description:
        "A day of jobs has been past its retention for a day, and is not in the archive yet. It stays in the database, and so does each later day. Check the log of the archive function.",
    });
  }
}
