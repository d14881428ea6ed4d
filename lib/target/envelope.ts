import { type ClaimedJob, receiversId } from "../parcel/claimed-job.ts";
import { jsonForQueues } from "../schedule/shape/json-for-queues.ts";

/**
 * The message that every target receives: a CloudEvents 1.0 envelope. `id` is the same for every
 * attempt at the same occurrence, so it serves as the receiver's idempotency key.
 */
export function envelope(job: ClaimedJob, generatedAt: Date, id = receiversId(job)): string {
  return jsonForQueues({
    specversion: "1.0",
    type: "carillon.job.due",
    source: "carillon",
    id,
    subject: job.key,
    time: due.of(job.dueAt),
    datacontenttype: "application/json",
    data: job.payload,
    schedulekey: job.key,
    scheduleid: job.scheduleId,
    attempt: job.attempt + 1,
    generatedat: generated.of(generatedAt),
  });
}

/**
 * Formats instants and keeps the last text. Most jobs of a parcel have the same instants, and a new
 * text takes as long as half an envelope.
 */
class InstantTexts {
  #ms = Number.NaN;
  #text = "";

  of(instant: Date): string {
    const ms = instant.getTime();
    if (ms !== this.#ms) {
      this.#text = instant.toISOString();
      this.#ms = ms;
    }
    return this.#text;
  }
}

const due = new InstantTexts();
const generated = new InstantTexts();
