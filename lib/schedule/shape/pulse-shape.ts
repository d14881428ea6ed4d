import type { Cadence } from "../../cadence/cadence-kinds.ts";
import { parseWhen } from "../../cadence/when/parse-when.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import type { Json } from "./json.ts";
import { jsonForQueues } from "./json-for-queues.ts";
import { sameJson } from "./same-json.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { dayMs, minuteMs } from "./timing-shape.ts";

/**
 * A pulse keeps no record of its fires: it has no plan rows, no jobs of its cadence, and no notes
 * of occurrences that were passed over.
 */
export function isPulse({ body }: { body: Pick<ScheduleBody, "delivery"> }): boolean {
  return body.delivery === "pulse";
}

/**
 * In bytes, as the database writes it. Thousands of pulses are read at once, so a payload must be
 * smaller than that of a job.
 */
export const pulsePayloadBytesMax = 16 * 1024;

/** Fields that only jobs support, with the reason why a pulse does not. */
const ofJobsAlone = {
  catchUp: "it keeps no record of fires that were missed",
  overlap: "Carillon does not know when an earlier fire has ended",
  deadline: "a late fire is still sent, up to a fixed limit after which it is skipped",
  maxFires: "its fires are not counted",
  retry: "a failed send is retried for a short time, by fixed rules",
  timeout: "it waits only for the answer of SQS or EventBridge",
  holdAfter: "its failures are not counted",
  serial: "pulses do not wait for each other",
  priority: "all fires of a second are sent together",
  calendar: "its interval has no days off",
  slot: "its interval and its `spread` determine the seconds of its fires",
  dst: "its interval does not follow the clock of a zone",
} as const satisfies Partial<Record<keyof ScheduleBody, string>>;

/**
 * Refuses fields that are well-formed but not supported by the delivery. `plain` is a body with
 * only the required fields.
 */
export function refuseByDelivery(body: ScheduleBody, plain: object): void {
  refuse(body, body.delivery === "pulse" ? pulseFaults(body, plain) : ledgerFaults(body));
}

/** As `refuseByDelivery`, if only the payload has changed. */
export function refusePayloadByDelivery(body: ScheduleBody): void {
  refuse(body, body.delivery === "pulse" ? payloadFaults(body) : []);
}

function refuse({ delivery }: Pick<ScheduleBody, "delivery">, faults: readonly Fault[]): void {
  if (faults.length > 0)
    throw new Refusal(
      "impossible",
      `The schedule has fields that \`delivery: "${delivery}"\` does not support.`,
      faults,
    );
}

function ledgerFaults({ target }: ScheduleBody): Fault[] {
  if (!("queue" in target) || target.batch === undefined) return [];
  return [{ path: "target.batch", message: 'takes `delivery: "pulse"`: each job is sent alone' }];
}

function pulseFaults(body: ScheduleBody, plain: object): Fault[] {
  const { target } = body;
  const unused = Object.entries(ofJobsAlone)
    .filter(([name]) => !sameJson(Reflect.get(body, name), Reflect.get(plain, name)))
    .map(([path, why]) => ({ path, message: `is not for a pulse: ${why}` }));
  const interval = intervalFault(body);
  return [
    ...unused,
    ...(interval === null ? [] : [{ path: "when", message: interval }]),
    ...("queue" in target || "event" in target
      ? []
      : [{ path: "target", message: "of a pulse takes a `queue` or an `event`" }]),
    ...payloadFaults(body),
  ];
}

function payloadFaults({ payload }: ScheduleBody): Fault[] {
  const bytes = storedBytes(payload);
  if (bytes <= pulsePayloadBytesMax) return [];
  return [
    {
      path: "payload",
      message: `of a pulse takes at most ${pulsePayloadBytesMax} bytes, has ${bytes}`,
    },
  ];
}

/**
 * The fault of a pulse's `when`; null if there is none. A text that is no valid `when` is refused
 * when its cadence is resolved.
 */
function intervalFault({ when, timezone }: ScheduleBody): string | null {
  const parsed = parseWhen(when, { timezone, now: 0, key: "" });
  return parsed.ok ? cadenceFault(parsed.cadence) : null;
}

/** Refuses a pulse whose cadence is no interval, also one that could only be read with the time of the edit. */
export function refusePulseCadence(body: Pick<ScheduleBody, "delivery">, cadence: Cadence): void {
  const message = cadenceFault(cadence);
  if (body.delivery === "pulse" && message !== null) refuse(body, [{ path: "when", message }]);
}

function cadenceFault(cadence: Cadence): string | null {
  if (cadence.kind !== "interval")
    return "of a pulse takes one interval of whole seconds, as in `every 10s` or `every 24h`";
  if (cadence.everyMs % 1_000 !== 0 || cadence.everyMs > dayMs)
    return "of a pulse takes an interval of whole seconds, from 1s to 24h";
  return null;
}

/**
 * The default spread of a pulse. Without it, thousands of pulses of one interval would fire at the
 * same second.
 */
export function pulseSpread({ when, timezone }: Pick<ScheduleBody, "when" | "timezone">): string {
  const parsed = parseWhen(when, { timezone, now: 0, key: "" });
  const everyMs = parsed.ok && parsed.cadence.kind === "interval" ? parsed.cadence.everyMs : minuteMs;
  return everyMs < minuteMs ? `${everyMs / 1_000}s` : "1m";
}

/** Rounds a lag in milliseconds down to whole seconds. */
export function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/**
 * The size in bytes of a payload as the database writes it, with a blank after each comma and
 * colon, and numbers in full.
 */
export function storedBytes(value: Json): number {
  if (typeof value === "number") return numberBytes(value);
  if (typeof value === "string") return textBytes(value);
  if (value === null || typeof value === "boolean") return String(value).length;
  const isList = Array.isArray(value);
  const members = isList
    ? value.map(storedBytes)
    : Object.entries(value).map(([name, member]) => textBytes(name) + 2 + storedBytes(member));
  return members.reduce((sum, bytes) => sum + bytes, 2 + 2 * Math.max(0, members.length - 1));
}

function textBytes(text: string): number {
  return Buffer.byteLength(jsonForQueues(text));
}

function numberBytes(value: number): number {
  const text = JSON.stringify(value);
  const [, sign = "", whole = "", fraction = "", exponent] = /^(-?)(\d+)\.?(\d*)e([+-]\d+)$/.exec(text) ?? [];
  if (exponent === undefined) return text.length;
  const places = Number(exponent);
  const digits = whole.length + fraction.length;
  // JavaScript writes an exponent only if the decimal point lies outside of the digits.
  return sign.length + (places < 0 ? 1 + digits - places : places + 1);
}
