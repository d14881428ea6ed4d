import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import type { ScheduledEvent } from "aws-lambda";
import { canaryFrom } from "../lib/canary/canaries.ts";
import { systemClock, systemTiming, type Timing } from "../lib/clock.ts";
import { acceptanceOf } from "../lib/command/acceptance.ts";
import { allowedTargetsFrom } from "../lib/command/allowed-targets.ts";
import { awsClientSettings, withoutSdkLog } from "../lib/config/aws.ts";
import { type Environment, flag, integer } from "../lib/config/environment.ts";
import { type Assembled, onDemand } from "../lib/config/function.ts";
import { answerMs, transactionMs } from "../lib/config/function-connections.ts";
import { auditRetention, jobRetention } from "../lib/config/function-limits.ts";
import { lifecycleFrom } from "../lib/config/lifecycle.ts";
import { logFrom } from "../lib/config/log-from.ts";
import { metricsFrom } from "../lib/config/metrics-from.ts";
import { connect } from "../lib/db/connect.ts";
import { parcelQueueFrom } from "../lib/parcel/parcel-queue-from.ts";
import { reportForeignLocks } from "../lib/tick/foreign-locks.ts";
import { measureTick } from "../lib/tick/housekeeping/measure.ts";
import type { Ticked } from "../lib/tick/run.ts";
import { type SharedTickEvent, shareOf } from "../lib/tick/share.ts";
import { tick, tickDefaults } from "../lib/tick/tick.ts";

/**
 * No further batch begins after 70 % of the time; the rest is for the batch under way and for
 * sending.
 */
const timeShare = 0.7;

export function assemble(
  env: Environment,
  timing: Timing = systemTiming,
): Assembled<ScheduledEvent | SharedTickEvent, Ticked> {
  const log = logFrom(env, "tick");
  const metrics = metricsFrom(env, "tick");
  const queue = parcelQueueFrom(env, log);
  const { notify, bus } = lifecycleFrom(env);
  const events = withoutSdkLog(
    new EventBridgeClient({
      ...awsClientSettings(env, "EVENTBRIDGE"),
      maxAttempts: 1,
    }),
  );
  const settings = {
    ...tickDefaults,
    batchMax: integer(env, "TICK_BATCH_MAX", tickDefaults.batchMax, { min: 1, max: 50_000 }),
    notify,
    canary: canaryFrom(env),
    retentionDays: integer(env, "RETENTION_DAYS", tickDefaults.retentionDays, jobRetention),
    archives: flag(env, "ARCHIVES"),
    // Zero keeps the audit forever.
    auditRetentionDays:
      integer(env, "AUDIT_RETENTION_DAYS", auditRetention.byDefault, auditRetention) || null,
  };
  const sql = connect(env, {
    max: settings.lanes + 1,
    applicationName: "carillon-tick",
    log,
    answerMs: answerMs.tick,
    transactionMs: transactionMs.tick,
    keepsPlans: false,
  });
  const targets = allowedTargetsFrom(env);
  // Only the acceptance of commands needs the handlers, for their schemas. They are imported late,
  // since most ticks accept none.
  const acceptance = async () =>
    acceptanceOf({ ...(await import("./own-handlers.ts")).ownHandlers(log), targets });
  const deps = { sql, log, queue, bus: { events, bus }, acceptance, reach: { failed: false } };
  return {
    handler: async (event, invocation) => {
      const startedAt = systemClock.now().getTime();
      const reserve = invocation.getRemainingTimeInMillis() * (1 - timeShare);
      const share = shareOf(event);
      const timeIsUp = () => invocation.getRemainingTimeInMillis() < reserve;
      // The locks that it looks for may make the whole tick fail.
      const reported = share.share === 0 ? reportForeignLocks({ sql, log, metrics, timing }) : undefined;
      const ticking = tick(deps, { ...settings, share }, timeIsUp);
      await Promise.allSettled([ticking, reported]);
      const ticked = await ticking;
      const ms = systemClock.now().getTime() - startedAt;
      const { rolledUp, ...done } = ticked;
      log.info(ticked.finished ? "tick.done" : "tick.unfinished", { ...done, ms });
      // Only one of the ticks of a minute measures the current counts; each measures its own
      // duration.
      const archive = settings.archives ? settings : null;
      if (share.share === 0) await measureTick({ sql, log, metrics }, { rolledUp, ms, archive });
      else metrics.write({ TickMs: ms });
      return ticked;
    },
    close: async () => {
      queue.sqs.destroy();
      events.destroy();
      await sql.end();
    },
  };
}

export const handler = onDemand(assemble, { hasHandlers: true });
