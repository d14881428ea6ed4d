import { S3Client } from "@aws-sdk/client-s3";
import type { ScheduledEvent } from "aws-lambda";
import { archiveDays } from "../lib/archive/archive-days.ts";
import { s3Store } from "../lib/archive/archive-store.ts";
import { partDefaults } from "../lib/archive/part.ts";
import { awsClientSettings, requestLimits } from "../lib/config/aws.ts";
import { type Environment, flag, integer, required } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { answerMs, functionConnections } from "../lib/config/function-connections.ts";
import { jobRetention } from "../lib/config/function-limits.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { connect } from "../lib/db/connect.ts";

/**
 * No further part begins after this share of the time; the next run, an hour later, continues with
 * the day.
 */
const timeShare = 0.8;

export interface Archived {
  days: string[];
}

export function assemble(env: Environment): Assembled<ScheduledEvent | object, Archived> {
  const log = logFrom(env, "archive");
  const s3 = new S3Client({
    // Parts of a day have tens of megabytes, so requests get more time.
    ...awsClientSettings(env, "S3", requestLimits(120_000)),
    // An emulator has one host name, so the bucket is in the path.
    forcePathStyle: flag(env, "ARCHIVE_PATH_STYLE"),
  });
  const store = s3Store(s3, { bucket: required(env, "ARCHIVE_BUCKET"), prefix: env["ARCHIVE_PREFIX"] ?? "" });
  const sql = connect(env, {
    max: functionConnections.archive,
    applicationName: "carillon-archive",
    answerMs: answerMs.others,
    keepsPlans: false,
  });
  const retentionDays = integer(env, "RETENTION_DAYS", jobRetention.byDefault, jobRetention);
  return {
    handler: async (_event, invocation) => {
      const reserve = invocation.getRemainingTimeInMillis() * (1 - timeShare);
      const timeIsUp = () => invocation.getRemainingTimeInMillis() < reserve;
      return {
        days: await archiveDays({ sql, store, log }, { retentionDays, part: partDefaults }, timeIsUp),
      };
    },
    close: async () => {
      s3.destroy();
      await sql.end();
    },
  };
}

export const handler = onDemand(assemble);
