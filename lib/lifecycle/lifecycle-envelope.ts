import { jobId } from "../job/job-id.ts";
import { jsonForQueues } from "../schedule/shape/json-for-queues.ts";
import type { OutboxEvent, PassedOver } from "./outbox.ts";

export function detailTypeOf({ event }: Pick<OutboxEvent, "event">): string {
  return `carillon.job.${event}`;
}

/**
 * The event as a CloudEvents 1.0 envelope, the same form that targets receive. An event may be sent
 * twice, with the same `id`. The payload of the job is left out: a listener on the bus may not have
 * the right to read it.
 */
export function lifecycleEnvelope(event: OutboxEvent, generatedAt: Date): string {
  return jsonForQueues({
    specversion: "1.0",
    type: detailTypeOf(event),
    source: "carillon",
    id:
      event.passed === null
        ? `${jobId(event)}-${event.event}-${event.attempt}`
        : passedId(event, event.passed),
    subject: event.key,
    time: event.at.toISOString(),
    datacontenttype: "application/json",
    data: event.passed === null ? { job: jobOf(event) } : passedOf(event, event.passed),
    schedulekey: event.key,
    scheduleid: event.scheduleId,
    generatedat: generatedAt.toISOString(),
  });
}

/** An occurrence is passed over at most once for one reason, so these parts are unique. */
function passedId({ scheduleId, event }: OutboxEvent, { from, to, reason }: PassedOver): string {
  return [scheduleId, new Date(from).getTime(), new Date(to).getTime(), event, reason].join("-");
}

function jobOf(event: OutboxEvent) {
  const { kind, key, group, scheduleId, version, occurrence, dueAt, attempt } = event;
  return {
    id: jobId(event),
    kind,
    key,
    group,
    scheduleId,
    version,
    occurrence: occurrence.toISOString(),
    dueAt: dueAt?.toISOString() ?? null,
    attempt,
    ...told(event),
  };
}

/** The reason and the error; a job that succeeds has neither. */
function told({ event, reason, error, errorClass }: OutboxEvent) {
  if (event === "dead") return { reason, error, errorClass };
  if (event === "failed") return { error, errorClass };
  return event === "skipped" ? { reason } : {};
}

function passedOf(event: OutboxEvent, { reason, from, to, count, more }: PassedOver) {
  const { scheduleId, key, group, dueAt } = event;
  return {
    schedule: { id: scheduleId, key, group },
    reason,
    count,
    atLeast: more,
    from: new Date(from).toISOString(),
    to: new Date(to).toISOString(),
    // A single occurrence, which the ledger has as a job.
    ...(count === 1 && dueAt !== null ? { job: jobOf(event) } : {}),
  };
}
