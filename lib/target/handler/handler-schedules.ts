import type { EditInside } from "../../batch/edits-inside.ts";
import type { HandlerSchedules, ScheduleInput } from "../../job/handler-context.ts";
import { Refusal } from "../../refusal.ts";
import type { ScheduleBody } from "../../schedule/shape/schedule-body.ts";
import { keyFault } from "../../schedule/shape/schedule-key.ts";
import { parseScheduleBody } from "../../schedule/shape/schedule-shape.ts";

/**
 * The most edits of one job. They are applied in one transaction, during which claims of their
 * shards wait.
 */
const editsMax = 100;

/** Refuses a valid body that is not possible in this deployment. */
export type Accept = (body: ScheduleBody) => void;

/** The edits of schedules that a handler asks for, kept until its job is settled. */
export class NotedEdits {
  readonly schedule: HandlerSchedules;
  readonly #edits: EditInside[] = [];
  #isClosed = false;

  constructor(accept: Accept) {
    this.schedule = new NotingSchedules(this, accept);
  }

  get edits(): readonly EditInside[] {
    return this.#edits;
  }

  note(edit: EditInside): void {
    if (this.#isClosed) throw new Error("The attempt has ended: ctx.schedule takes no more edits.");
    if (this.#edits.length === editsMax)
      throw new Error(`A job edits at most ${editsMax} schedules; divide the work among several jobs.`);
    this.#edits.push(edit);
  }

  /** Refuses further edits, since they would never be applied. */
  close(): void {
    this.#isClosed = true;
  }
}

class NotingSchedules implements HandlerSchedules {
  readonly #noted: NotedEdits;
  readonly #accept: Accept;

  constructor(noted: NotedEdits, accept: Accept) {
    this.#noted = noted;
    this.#accept = accept;
  }

  put(key: string, input: ScheduleInput): void {
    this.#noted.note({ kind: "put", key, body: readBody(key, input, this.#accept) });
  }

  cancel(key: string): void {
    refuseOddKey(key, "cancel");
    this.#noted.note({ kind: "cancel", key });
  }
}

function readBody(key: string, input: ScheduleInput, accept: Accept): ScheduleBody {
  refuseOddKey(key, "put");
  try {
    // The body as it would come over HTTP: dates as text, and no undefined members.
    const body = parseScheduleBody(JSON.parse(JSON.stringify(input)));
    accept(body);
    return body;
  } catch (error) {
    throw error instanceof Refusal
      ? new TypeError(`ctx.schedule.put(${JSON.stringify(key)}): ${refused(error)}`)
      : error;
  }
}

function refuseOddKey(key: string, verb: "put" | "cancel"): void {
  const fault = keyFault(key);
  if (fault !== null) throw new TypeError(`ctx.schedule.${verb}(${JSON.stringify(key)}): the key ${fault}`);
}

/** A refusal in one line that names every fault. */
export function refused({ message, faults }: Refusal): string {
  if (faults.length === 0) return message;
  return `${message} ${faults.map(({ path, message: fault }) => `${path}: ${fault}`).join("; ")}`;
}
