import type { HandlerSchedules, ScheduleInput } from "../job/handler-context.ts";
import type { EditInside } from "../plan/edits-inside.ts";
import { Refusal } from "../refusal.ts";
import { parseScheduleBody, type ScheduleBody } from "../schedule/schedule-body.ts";
import { keyFault } from "../schedule/schedule-key.ts";

/** What a handler wants done with schedules, noted until its job is settled. */
export interface NotedEdits {
  schedule: HandlerSchedules;
  edits: readonly EditInside[];
  /** From here on nothing is noted: it would never be done. */
  close(): void;
}

/** All are applied in one transaction, during which claims of their shards wait. */
const editsMax = 100;

/** `accept` refuses a body that is understood and not possible here. */
export function notedEdits(accept: (body: ScheduleBody) => void): NotedEdits {
  const edits: EditInside[] = [];
  let closed = false;
  const note = (edit: EditInside) => {
    if (closed) throw new Error("The attempt has ended: ctx.schedule takes no more edits.");
    if (edits.length === editsMax)
      throw new Error(`A job edits at most ${editsMax} schedules; have several jobs share the work.`);
    edits.push(edit);
  };
  return {
    edits,
    schedule: {
      put: (key, input) => note({ kind: "put", key, body: readBody(key, input, accept) }),
      cancel: (key) => {
        refuseOddKey(key, "cancel");
        note({ kind: "cancel", key });
      },
    },
    close: () => {
      closed = true;
    },
  };
}

function readBody(key: string, input: ScheduleInput, accept: (body: ScheduleBody) => void): ScheduleBody {
  refuseOddKey(key, "put");
  try {
    // As it would come over HTTP: dates as text, and nothing that is undefined.
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

/** A refusal in one line, every fault named. */
export function refused({ message, faults }: Refusal): string {
  if (faults.length === 0) return message;
  return `${message} ${faults.map(({ path, message: fault }) => `${path}: ${fault}`).join("; ")}`;
}
