import * as z from "zod";
import { CarillonProblem, CarillonUnreachable } from "../client/main.ts";
import type { Schedules } from "../client/schedules.ts";
import type { StackCaller } from "../config/stack-caller.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import { keyFault } from "../schedule/shape/schedule-key.ts";
import type { StackAnswer } from "./answer-stack.ts";
import { deleteSchedule, type Keeping, OwnedByOther, putSchedule } from "./keep-schedule.ts";
import { PropertiesFault, readProperties } from "./schedule-properties.ts";
import { type Addressed, type Asked, readAsked, stackOf } from "./stack-event.ts";

export interface CarryOutDeps {
  /** The schedules of the deployment, in the name of a stack. */
  schedulesFor: (caller: StackCaller) => Schedules;
  log: Log;
}

/** How long the API may take. */
export interface TimeLimit {
  signal: AbortSignal;
  ms: number;
}

/** A request that was carried out. */
interface Outcome {
  /** The physical id of the resource. */
  id: string;
  /** False where the schedule of a deleted resource belongs to another owner by now, and stays. */
  isDone: boolean;
}

/**
 * Does what CloudFormation asks for one resource, and returns the answer, which is a failure for
 * every error. The key is the physical id, so a new key is a replacement: CloudFormation first has
 * the new schedule made, and then the old one deleted.
 */
export async function carryOut(
  deps: CarryOutDeps,
  event: unknown,
  address: Addressed,
  limit: TimeLimit,
): Promise<StackAnswer> {
  const fields = { stack: address.StackId, resource: address.LogicalResourceId, request: address.RequestId };
  try {
    const asked = readAsked(event);
    const { id, isDone } = await outcomeOf(keepingFor(deps, address, limit), asked, address);
    const type = asked.RequestType;
    if (isDone) deps.log.info("stack.request", { ...fields, type, key: id });
    else deps.log.warn("stack.left-alone", { ...fields, type, key: id });
    return { status: "SUCCESS", physicalResourceId: id };
  } catch (error) {
    deps.log.error("stack.failed", { ...fields, type: typeIn(event), error: errorText(error) });
    return {
      status: "FAILED",
      reason: reasonOf(error, limit, address),
      physicalResourceId: address.PhysicalResourceId ?? keyIn(event) ?? neverMade,
    };
  }
}

/** A physical id that no key can be: the resource has no schedule, so its deletion does nothing. */
const neverMade = "not/made";

function keepingFor({ schedulesFor }: CarryOutDeps, address: Addressed, { signal }: TimeLimit): Keeping {
  const { name, account } = stackOf(address);
  return {
    schedules: schedulesFor({ name, account }),
    owner: { stack: name, resource: address.LogicalResourceId },
    requestId: address.RequestId,
    signal,
  };
}

async function outcomeOf(
  keeping: Keeping,
  asked: Asked,
  { PhysicalResourceId: id = neverMade }: Addressed,
): Promise<Outcome> {
  if (asked.RequestType === "Delete")
    return { id, isDone: keyFault(id) !== null || (await deleteSchedule(keeping, id)) };
  const { key, body, takeOver } = readProperties(asked.ResourceProperties);
  // Without `paused`, a put would leave the hold that the template no longer has.
  const wasPaused = asked.RequestType === "Update" && isPaused(asked.OldResourceProperties);
  const released = wasPaused && body["paused"] === undefined ? { paused: false } : {};
  await putSchedule(keeping, { key, body: { ...body, ...released }, takeOver, isKnown: key === id });
  return { id: key, isDone: true };
}

function isPaused({ paused }: Readonly<Record<string, unknown>>): boolean {
  return String(paused) === "true";
}

function typeIn(event: unknown): string {
  return z.object({ RequestType: z.string() }).safeParse(event).data?.RequestType ?? "a request";
}

/**
 * The key of a creation that failed. If the API has carried it out although its answer was lost,
 * the rollback finds the schedule by this key.
 */
function keyIn(event: unknown): string | undefined {
  const read = z.object({ ResourceProperties: z.object({ key: z.string() }) }).safeParse(event);
  const key = read.data?.ResourceProperties.key;
  return key === undefined || keyFault(key) !== null ? undefined : key;
}

/** The sentence that CloudFormation shows. Errors of other classes may quote secrets. */
function reasonOf(error: unknown, { signal, ms }: TimeLimit, { RequestId }: Addressed): string {
  if (error instanceof PropertiesFault || error instanceof OwnedByOther) return error.message;
  if (error instanceof CarillonProblem) {
    const { message, status, requestId } = error;
    return status < 500 || requestId === undefined ? message : `${message} (request ${requestId})`;
  }
  if (signal.aborted) return `Carillon's API did not answer within ${Math.round(ms / 1_000)} seconds.`;
  if (error instanceof CarillonUnreachable) return `Carillon's API did not answer: ${errorText(error.cause)}`;
  return `The function that keeps schedules of stacks failed; its log names the reason under request ${RequestId}.`;
}
