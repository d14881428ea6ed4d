import { jobId } from "../../job/job-id.ts";
import type { HandlerLog, LogFields, LogLevel } from "../../log/log.ts";
import { textOf } from "../../log/text-of.ts";
import type { ClaimedJob } from "../../parcel/claimed-job.ts";

/** The log of a handler: adds the names of the handler's jobs to each line, and never throws. */
export class NamingLog implements HandlerLog {
  readonly #log: HandlerLog;
  readonly #jobs: readonly ClaimedJob[];

  constructor(log: HandlerLog, jobs: readonly ClaimedJob[]) {
    this.#log = log;
    this.#jobs = jobs;
  }

  info(event: string, fields?: LogFields): void {
    this.#write("info", event, fields);
  }

  warn(event: string, fields?: LogFields): void {
    this.#write("warn", event, fields);
  }

  error(event: string, fields?: LogFields): void {
    this.#write("error", event, fields);
  }

  #write(level: LogLevel, event: string, fields?: LogFields): void {
    try {
      this.#log[level](event, { ...this.#naming(), ...fields });
    } catch {
      this.#writeAsText(level, event, fields);
    }
  }

  /**
   * Writes a line whose fields JSON cannot hold, such as a bigint or a circular object, with each
   * of them as text.
   */
  #writeAsText(level: LogLevel, event: string, fields?: LogFields): void {
    try {
      this.#log[level](textOf(event), { ...this.#naming(), ...asText(fields ?? {}) });
    } catch {
      // A lost line is less harm than a failed job.
    }
  }

  #naming(): LogFields {
    const [first, ...more] = this.#jobs;
    return first === undefined || more.length > 0
      ? { group: first?.group, jobs: this.#jobs.length }
      : { job: jobId(first), key: first.key };
  }
}

function asText(fields: LogFields): LogFields {
  try {
    const members: [string, unknown][] = Object.entries(fields);
    return Object.fromEntries(members.map(([name, value]) => [name, textOf(value)]));
  } catch {
    // The handler's own accessor or proxy threw. Its event is logged without the fields.
    return {};
  }
}
