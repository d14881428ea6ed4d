import { isNotFound, isPreconditionFailed, type Schedule, type ScheduleBody } from "../client/main.ts";
import type { Schedules } from "../client/schedules.ts";
import { isOwnedBy, type Owner, otherOwner, tagsOf } from "./owner-tags.ts";

export interface Keeping {
  schedules: Schedules;
  /** The resource for which the schedule is kept. */
  owner: Owner;
  /** The id of CloudFormation's request, which a repeat of the request has too. */
  requestId: string;
  signal: AbortSignal;
}

export interface Wanted {
  key: string;
  body: { readonly [name: string]: unknown };
  /** Whether a schedule of another owner is taken over. */
  takeOver: boolean;
  /** Whether the resource had this key before. */
  isKnown: boolean;
}

/** The schedule belongs to another owner. */
export class OwnedByOther extends Error {
  override readonly name = "OwnedByOther";
}

/** Tries after another caller's edit between the read and the write. */
const triesMax = 5;

/** Creates or replaces the schedule. Throws OwnedByOther unless it is the resource's, or new. */
export async function putSchedule(keeping: Keeping, wanted: Wanted): Promise<void> {
  const { schedules, owner, signal } = keeping;
  const { key, body } = wanted;
  const marked = withTags(body, tagsOf(owner));
  await eachTry(keeping, key, async (saved, idempotencyKey) => {
    if (saved !== null) refuseOthers(owner, wanted, saved);
    const condition = saved === null ? { ifNoneMatch: "*" as const } : { ifMatch: saved.version };
    await schedules.put(key, marked, { ...condition, idempotencyKey, signal });
  });
}

/** Deletes the schedule if it is still the resource's; false where it is not. */
export async function deleteSchedule(keeping: Keeping, key: string): Promise<boolean> {
  const { schedules, owner, signal } = keeping;
  let isOwned = true;
  await eachTry(keeping, key, async (saved, idempotencyKey) => {
    if (saved === null) return;
    isOwned = isOwnedBy(owner, saved.tags) && otherOwner(owner, saved.tags) === undefined;
    if (!isOwned) return;
    await schedules.delete(key, { ifMatch: saved.version, idempotencyKey, signal }).catch(ignoreGone);
  });
  return isOwned;
}

/** Reads the schedule and acts on it, again while another caller changes it in between. */
async function eachTry(
  { schedules, requestId, signal }: Keeping,
  key: string,
  act: (saved: Schedule | null, idempotencyKey: string) => Promise<void>,
): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const saved = await savedAs(schedules, key, signal);
    try {
      // Each version has a key of its own, because a key with another If-Match is refused.
      await act(saved, `${requestId}:${saved?.version ?? "new"}:${tries}`);
      return;
    } catch (error) {
      if (!isPreconditionFailed(error) || tries === triesMax) throw error;
    }
  }
}

async function savedAs(schedules: Schedules, key: string, signal: AbortSignal): Promise<Schedule | null> {
  try {
    return await schedules.get(key, { signal });
  } catch (error) {
    if (isNotFound(error)) return null;
    throw error;
  }
}

function ignoreGone(error: unknown): void {
  if (!isNotFound(error)) throw error;
}

/**
 * A schedule that this resource had before is its own again, even if an edit has dropped its tags,
 * unless another owner has put tags of its own on it.
 */
function refuseOthers(owner: Owner, { key, takeOver, isKnown }: Wanted, { tags }: Schedule): void {
  if (takeOver) return;
  const other = otherOwner(owner, tags);
  if (other === undefined && (isKnown || isOwnedBy(owner, tags))) return;
  const of = other === undefined ? "was not made by this resource" : `belongs to ${other}`;
  throw new OwnedByOther(
    `key: the schedule ${JSON.stringify(key)} exists already and ${of}. Choose another key, or set takeOver to true, and the stack takes it over.`,
  );
}

/** The API checks the body: it is what the template has, and its form is not known here. */
function withTags(body: Wanted["body"], own: readonly string[]): ScheduleBody {
  const { tags = [], ...fields } = body;
  const marked: unknown = { ...fields, tags: Array.isArray(tags) ? [...tags, ...own] : tags };
  return marked as ScheduleBody;
}
