import { Annotations, CustomResource, Duration, RemovalPolicy, Stack, Token } from "aws-cdk-lib";
import { Construct, type IConstruct } from "constructs";
import { checkSchedule } from "../../lib/stack/schedule-check.ts";
import { atCaller } from "../at-caller.ts";
import { knownParts } from "./known-parts.ts";
import type { ScheduleHome, ScheduleProps } from "./schedule-props.ts";

/**
 * The wait for the function's answer. CloudFormation's own hour would pass where the function cannot
 * even start.
 */
const ANSWER_TIMEOUT = Duration.minutes(10);

/**
 * A schedule that is deployed with its stack. Its body is read at synth as the API reads it, so that
 * a fault stops the synthesis, with its path and position. Tokens are checked by the deployment.
 */
export class Schedule extends Construct {
  /** The key, as a reference: what uses it waits for the schedule. */
  readonly key: string;

  constructor(scope: Construct, id: string, props: ScheduleProps) {
    super(scope, id);
    const { carillon, key, takeOver = false, removalPolicy = RemovalPolicy.DESTROY, ...fields } = props;
    const body = asJson(fields);
    const warnings = atCaller(Schedule, () => {
      refuseTwice(this, carillon, key);
      return checked(this, key, body);
    });
    for (const warning of warnings) Annotations.of(this).addWarningV2("carillon:when", warning);
    const { payload, ...others } = body;
    const resource = new CustomResource(this, "Resource", {
      serviceToken: carillon.scheduleServiceToken,
      resourceType: "Custom::CarillonSchedule",
      serviceTimeout: ANSWER_TIMEOUT,
      removalPolicy,
      properties: {
        key,
        ...others,
        // As a text, because CloudFormation would turn the numbers and booleans in it into texts.
        ...(payload === undefined ? {} : { payload: Stack.of(this).toJsonString(payload) }),
        ...(takeOver ? { takeOver } : {}),
      },
    });
    this.key = resource.ref;
  }
}

/** Throws every fault in one error that names the construct. Returns the warnings. */
function checked(schedule: Schedule, key: string, body: Readonly<Record<string, unknown>>): string[] {
  const known = { key: "unknown", ...Object(knownParts({ key, ...body })) };
  const { key: knownKey, ...fields }: { key: string } = known;
  const { faults, warnings } = checkSchedule(knownKey, fields, Date.now());
  if (faults.length === 0) return warnings;
  const lines = faults.map(({ path, message }) => `${path === "" ? "" : `${path}: `}${message}`);
  throw new Error([`${schedule.node.path}: this schedule cannot be used:`, ...lines].join("\n  "));
}

/** The paths of an app's schedules, by deployment and key. */
const keysOf = new WeakMap<IConstruct, Map<string, string>>();

/** Refuses a second schedule of one key in an app, before the deployment would refuse it. */
function refuseTwice(schedule: Schedule, carillon: ScheduleHome, key: string): void {
  if (Token.isUnresolved(key)) return;
  const { root, path } = schedule.node;
  const keys = keysOf.get(root) ?? new Map<string, string>();
  keysOf.set(root, keys);
  const name = `${homeName(schedule, carillon)} ${key}`;
  const other = keys.get(name);
  if (other !== undefined)
    throw new Error(`${path}: the key ${JSON.stringify(key)} is that of ${other} already; choose another`);
  keys.set(name, path);
}

/**
 * The service token of another app may name another deployment in each stack, because stacks may go
 * to different accounts.
 */
function homeName(schedule: Schedule, carillon: ScheduleHome): string {
  if (Construct.isConstruct(carillon)) return carillon.node.addr;
  const stack = Stack.of(schedule);
  return JSON.stringify([stack.node.addr, stack.resolve(carillon.scheduleServiceToken)]);
}

/** Drops fields that are null or undefined, which mean their defaults, and writes dates as texts. */
function asJson(fields: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).flatMap(([name, value]: [string, unknown]) =>
      value === null || value === undefined ? [] : [[name, name === "payload" ? value : plain(value)]],
    ),
  );
}

function plain(value: unknown): unknown {
  if (value instanceof Date) return value.toISOString();
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null || Token.isUnresolved(value)) return value;
  return asJson(value);
}
