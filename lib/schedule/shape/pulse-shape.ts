import { parseWhen } from "../../cadence/when/parse-when.ts";
import { type Fault, Refusal } from "../../refusal.ts";
import type { Json } from "./json.ts";
import { jsonForQueues } from "./json-for-queues.ts";
import { sameJson } from "./same-json.ts";
import type { ScheduleBody } from "./schedule-body.ts";
import { dayMs, minuteMs } from "./timing-shape.ts";

/** Of what it was to do nothing is kept: it has no plan rows, no jobs of its cadence, and no notes of what was passed over. */
export function isPulse({ body }: { body: Pick<ScheduleBody, "delivery"> }): boolean {
  return body.delivery === "pulse";
}

/** As the database writes it. Thousands of pulses are read at once, so that one may not be as large as a job. */
export const pulsePayloadBytesMax = 16 * 1024;

/** What is asked of a job, and of a pulse would be asked in vain. */
const ofJobsAlone = {
  catchUp: "nothing of it is kept that could be caught up with",
  overlap: "nobody knows whether an earlier one is still at work",
  deadline: "what is late goes late, up to the bound after which it is passed over",
  maxFires: "nobody counts its fires",
  retry: "what a target does not take is tried again for a while, by rules that are the same for all",
  timeout: "nothing is waited for but the answer of SQS or EventBridge",
  holdAfter: "nobody counts what failed in a row",
  serial: "one does not wait for another",
  priority: "all of a second go together",
  calendar: "its interval has no days off",
  slot: "its interval and its `spread` say at which seconds it goes",
  dst: "its interval follows no clock",
} as const satisfies Partial<Record<keyof ScheduleBody, string>>;

/** Refuses what is well-formed and impossible for this kind of delivery; `plain` names nothing but when and where to. */
export function refuseByDelivery(body: ScheduleBody, plain: object): void {
  refuse(body, body.delivery === "pulse" ? pulseFaults(body, plain) : ledgerFaults(body));
}

/** The same where nothing but the payload is another. */
export function refusePayloadByDelivery(body: ScheduleBody): void {
  refuse(body, body.delivery === "pulse" ? payloadFaults(body) : []);
}

function refuse({ delivery }: ScheduleBody, faults: readonly Fault[]): void {
  if (faults.length > 0)
    throw new Refusal("impossible", `The schedule asks for what \`${delivery}\` cannot do.`, faults);
}

function ledgerFaults({ target }: ScheduleBody): Fault[] {
  if (!("queue" in target) || target.batch === undefined) return [];
  return [{ path: "target.batch", message: 'takes `delivery: "pulse"`: each job travels alone' }];
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
      : [{ path: "target", message: "of a pulse is a `queue` or an `event`" }]),
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

/** What is no `when` at all is refused as such, where its cadence is resolved. */
function intervalFault({ when, timezone }: ScheduleBody): string | null {
  const parsed = parseWhen(when, { timezone, now: 0, key: "" });
  if (!parsed.ok) return null;
  const { cadence } = parsed;
  if (cadence.kind !== "interval")
    return "of a pulse is one interval of whole seconds, as in `every 10s` or `every 24h`";
  if (cadence.everyMs % 1_000 !== 0 || cadence.everyMs > dayMs)
    return "of a pulse is an interval of whole seconds, from 1s to 24h";
  return null;
}

/** Pulses of one interval would otherwise go at the second at which they were made, thousands of them at once. */
export function pulseSpread({ when, timezone }: Pick<ScheduleBody, "when" | "timezone">): string {
  const parsed = parseWhen(when, { timezone, now: 0, key: "" });
  const everyMs = parsed.ok && parsed.cadence.kind === "interval" ? parsed.cadence.everyMs : minuteMs;
  return everyMs < minuteMs ? `${everyMs / 1_000}s` : "1m";
}

/** By how many whole seconds, of what its key and its spread say in milliseconds. */
export function wholeSeconds(ms: number): number {
  return Math.floor(ms / 1_000) * 1_000;
}

/** How many bytes a payload has as the database writes it, with a blank after each comma and colon, numbers in full. */
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
  // JavaScript writes an exponent only where the point lies outside of the digits.
  return sign.length + (places < 0 ? 1 + digits - places : places + 1);
}
