import { mayBeRelative } from "../cadence/when/may-be-relative.ts";
import { refuseInexactNumbers } from "../command/exact-numbers.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { isOwnerTag } from "./owner-tags.ts";

// CloudFormation passes numbers and booleans of properties to a custom resource as texts.

/** The fields of a schedule's body that are numbers, and those that are booleans; a test compares them with its shape. */
export const numberFields = [
  "maxFires",
  "catchUp.limit",
  "retry.attempts",
  "holdAfter",
  "target.batch",
] as const;
export const booleanFields = ["serial", "deleteOnEnd", "paused"] as const;

/** Properties that CloudFormation itself reads. */
const ofCloudFormation: ReadonlySet<string> = new Set(["ServiceToken", "ServiceTimeout"]);

/** A resource's properties, read as far as the API does not read them. */
export interface ScheduleProperties {
  key: string;
  /** The body of the schedule, which the API checks. */
  body: { [name: string]: unknown };
  takeOver: boolean;
}

/** The properties cannot be a schedule's. */
export class PropertiesFault extends Error {
  override readonly name = "PropertiesFault";
  readonly faults: readonly Fault[];

  constructor(faults: readonly Fault[]) {
    super(
      `The schedule is not understood. ${faults.map(({ path, message }) => `${path} ${message}`).join("; ")}.`,
    );
    this.faults = faults;
  }
}

/** Reads properties as CloudFormation passes them. Throws a PropertiesFault. */
export function readProperties(properties: Readonly<Record<string, unknown>>): ScheduleProperties {
  const {
    key,
    takeOver = false,
    payload,
    ...rest
  } = Object.fromEntries(Object.entries(properties).filter(([name]) => !ofCloudFormation.has(name)));
  const read: ReadPayload = payload === undefined ? {} : readPayload(payload);
  const faults: Fault[] = [
    ...(typeof key === "string" ? [] : [{ path: "key", message: "is required, as a text" }]),
    ...(typeof booleanOf(takeOver) === "boolean"
      ? []
      : [{ path: "takeOver", message: "takes true or false" }]),
    ...(read.fault === undefined ? [] : [read.fault]),
    ...ownerTagFaults(rest["tags"]),
    ...relativeFaults(rest["when"]),
  ];
  if (faults.length > 0 || typeof key !== "string") throw new PropertiesFault(faults);
  for (const name of numberFields) convert(rest, name.split("."), numberOf);
  for (const name of booleanFields) convert(rest, name.split("."), booleanOf);
  return { key, body: { ...rest, ...read }, takeOver: booleanOf(takeOver) === true };
}

/** Tags of owners are set by their owners: as a field they would make the schedule theirs too. */
export function ownerTagFaults(tags: unknown): Fault[] {
  if (!Array.isArray(tags)) return [];
  return tags.flatMap((tag: unknown, index) =>
    typeof tag === "string" && isOwnerTag(tag)
      ? [{ path: `tags[${index}]`, message: "may not begin with `apply:` or `stack:`, which mark owners" }]
      : [],
  );
}

/** A relative time would move with each deployment, and with each retry of one. */
export const relativeFault: Fault = {
  path: "when",
  message: "counts from now, so each deployment would move it: write `at …`",
};

function relativeFaults(when: unknown): Fault[] {
  const texts = [when].flat().filter((text) => typeof text === "string");
  return mayBeRelative(texts) ? [relativeFault] : [];
}

interface ReadPayload {
  payload?: unknown;
  fault?: Fault;
}

function readPayload(payload: unknown): ReadPayload {
  const fault = (message: string) => ({ fault: { path: "payload", message } });
  if (typeof payload !== "string")
    return fault(
      `${takesJson}, because CloudFormation turns the numbers and booleans of an object into texts`,
    );
  try {
    const read: unknown = JSON.parse(payload);
    refuseInexactNumbers(payload);
    return { payload: read };
  } catch (error) {
    if (error instanceof Refusal)
      return fault("has a number that cannot be kept exactly: write it as a string");
    // The parser's message quotes the payload, so only the position is taken from it.
    const [, position] = /at position (\d+)/.exec(error instanceof Error ? error.message : "") ?? [];
    return fault(
      `${takesJson}, and is not JSON${position === undefined ? "" : ` (at position ${position})`}`,
    );
  }
}

const takesJson = "takes JSON as a text, such as '{\"orderId\":1234}'";

/** Replaces the value at a path, where there is one; the objects on the way are copied. */
function convert(
  body: { [name: string]: unknown },
  [name = "", ...rest]: readonly string[],
  read: (value: unknown) => unknown,
): void {
  const value = body[name];
  if (value === undefined) return;
  if (rest.length === 0) body[name] = read(value);
  else if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const inside = { ...value };
    convert(inside, rest, read);
    body[name] = inside;
  }
}

/** A number that is a text; any other value as it is, so that the API names its fault. */
function numberOf(value: unknown): unknown {
  return typeof value === "string" && /^-?\d{1,15}(\.\d{1,15})?$/.test(value) ? Number(value) : value;
}

function booleanOf(value: unknown): unknown {
  return value === "true" ? true : value === "false" ? false : value;
}
