import { v7 as uuidv7 } from "uuid";
import type { Tx } from "../db/connect.ts";
import { readShard, shardOf } from "../plan/shard.ts";
import { readTeamState } from "../quota/team-list.ts";
import { changeBySpec, difference, noUsage, usageOf } from "../quota/usage.ts";
import { Refusal } from "../refusal.ts";
import { madeBy, refuseWider, widens } from "../schedule/hold-reach.ts";
import {
  type Hold,
  type HoldChange,
  holdsAfter,
  holdsOfLabels,
  isSameHold,
  ownHold,
} from "../schedule/holds.ts";
import { editedSpec, hasSameCadence, isRelative } from "../schedule/resolve-spec.ts";
import type { Caller } from "../schedule/shape/caller.ts";
import { refusalsOf, together } from "../schedule/shape/faults-together.ts";
import type { Json } from "../schedule/shape/json.ts";
import { mergePatch, patchedSchedule } from "../schedule/shape/merge-patch.ts";
import { sameJson } from "../schedule/shape/same-json.ts";
import type { ScheduleBody } from "../schedule/shape/schedule-body.ts";
import { parseScheduleBody, withPayload } from "../schedule/shape/schedule-shape.ts";
import { shownTarget, withCredentials } from "../schedule/shape/target-credentials.ts";
import { labelsBesides, labelsOf } from "../schedule/shared-holds.ts";
import type { ScheduleChange, Spec } from "../schedule/stored/version-rows.ts";
import { unreadConflict } from "../schedule/stored/versions-fault.ts";
import { sealCredentials } from "../sealing/seal-credentials.ts";
import { type AppCheck, requireChecked } from "./app-check.ts";
import type { EditContext } from "./apply-edit.ts";
import {
  type Created,
  type Decision,
  type EditDeps,
  type EditDone,
  type EditParams,
  type EditSteps,
  edit,
} from "./edit-transaction.ts";
import { lockForChange } from "./lock-for-change.ts";
import { lookUpOneByOne } from "./lookups.ts";
import { makeSchedules, type NewScheduleParams, prepareSchedule } from "./make-schedules.ts";
import { refuseFull } from "./schedule-holds.ts";

export interface PutParams extends EditParams {
  body: ScheduleBody;
  ifNoneMatch?: boolean | undefined;
  /** Start of relative times; now if left out. */
  countFrom?: Date | undefined;
}

export function putSchedule(deps: EditDeps, params: PutParams): Promise<EditDone> {
  return edit(deps, params, putSteps(params));
}

export function putSteps(params: PutParams): EditSteps {
  const { key, body, caller, ifMatch, ifNoneMatch, countFrom } = params;
  return {
    missing: async (tx, id, teams) => {
      if (ifMatch !== undefined)
        throw new Refusal("precondition", `There is no schedule ${key} that could match.`);
      return create(tx, { id, key, body, caller, countFrom }, teams);
    },
    decide: async (_tx, context) => {
      if (ifNoneMatch === true) throw new Refusal("precondition", `The schedule ${key} exists already.`);
      return respec(context, { change: "replaced", body, author: caller, countFrom });
    },
  };
}

export function createSchedule(
  deps: EditDeps,
  params: { key?: string | undefined; body: ScheduleBody; caller: Caller },
): Promise<EditDone> {
  const key = params.key ?? uuidv7();
  return edit(
    deps,
    { key, caller: params.caller },
    {
      missing: (tx, id, teams) => create(tx, { id, key, body: params.body, caller: params.caller }, teams),
      decide: () => {
        throw new Refusal("conflict", `The schedule ${key} exists already.`, [
          { path: "key", message: "is taken" },
        ]);
      },
    },
  );
}

export function patchSchedule(
  deps: EditDeps,
  params: EditParams & { patch: unknown },
  accept?: PatchAcceptance,
): Promise<EditDone> {
  return edit(deps, params, patchSteps(params, accept));
}

/**
 * Throws a Refusal if a patched body is not allowed. Returns the check by the app's code, if there
 * is one, because that has to run outside the transaction.
 */
export type PatchAcceptance = (body: ScheduleBody, before: ScheduleBody, key: string) => AppCheck | null;

export function patchSteps(
  params: Pick<PutParams, "caller" | "countFrom"> & { patch: unknown },
  accept: PatchAcceptance = () => null,
): EditSteps {
  const { patch, caller, countFrom } = params;
  return {
    decide: (_tx, context) => {
      const { body: existing, unread, key } = context.current;
      if (unread !== null) throw unreadConflict(unread);
      const requireAccepted = (body: ScheduleBody) => {
        const check = accept(body, existing, key);
        if (check !== null) requireChecked({ edit: params, body, before: existing, check });
      };
      const body = understoodBody(existing, patch, requireAccepted);
      requireAccepted(body);
      const names = typeof patch === "object" && patch !== null ? Object.keys(patch) : [];
      const whenNamed = names.includes("when");
      return respec(context, { change: "patched", body, author: caller, whenNamed, countFrom });
    },
  };
}

/**
 * The body after a patch. If it is not valid, its target and its payload alone are still checked, so
 * that the refusal names their faults as well.
 */
function understoodBody(
  existing: ScheduleBody,
  patch: unknown,
  requireAccepted: (body: ScheduleBody) => void,
): ScheduleBody {
  try {
    return patchedBody(existing, patch);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    const delivered = deliveredBody(existing, patch);
    throw together([error, ...(delivered === null ? [] : refusalsOf(() => requireAccepted(delivered)))]);
  }
}

/** The body after a patch of its target and its payload alone; null if that is not valid either. */
function deliveredBody(existing: ScheduleBody, patch: unknown): ScheduleBody | null {
  const named = Object.entries(Object(patch)).filter(([name]) => name === "target" || name === "payload");
  try {
    return patchedBody(existing, Object.fromEntries(named));
  } catch (error) {
    if (error instanceof Refusal) return null;
    throw error;
  }
}

/** The body of a schedule after a patch. Throws a Refusal if that body is not valid. */
export function patchedBody(existing: ScheduleBody, patch: unknown): ScheduleBody {
  // Parsing the whole body again takes a third of the time of a batch of such patches.
  if (namesPayloadAlone(patch) && !("webhook" in existing.target))
    return withPayload(existing, mergePatch({ payload: existing.payload }, patch, 0));
  return parseScheduleBody(patchedSchedule({ ...existing, target: shownTarget(existing.target) }, patch));
}

function namesPayloadAlone(patch: unknown): boolean {
  if (typeof patch !== "object" || patch === null || Array.isArray(patch)) return false;
  return Object.keys(patch).every((name) => name === "payload");
}

export async function deleteSchedule(deps: EditDeps, params: EditParams): Promise<void> {
  await edit(deps, params, deleteSteps);
}

export const deleteSteps: EditSteps = {
  decide: async (_tx, { current, known }) => {
    // Later operations of the same wave may use the room.
    const used = usageOf(current, current.payloadBytes ?? 0);
    await known.quota.take(current.key, difference(used, noUsage), "");
    return { edit: { change: "deleted", delete: true }, holdsAfter: [] };
  },
};

export async function create(
  tx: Tx,
  params: NewScheduleParams,
  teams: ReadonlySet<string>,
): Promise<Created> {
  const shard = shardOf(params.id);
  // A new schedule has no jobs, so its gate stays open.
  const [, state, teamState] = await Promise.all([
    lockForChange(tx, { labels: labelsOf(params.body), shards: [shard], gates: [] }),
    readShard(tx, shard),
    readTeamState(tx),
  ]);
  const known = lookUpOneByOne(tx, state.now, { state: teamState, locked: teams });
  const prepared = await prepareSchedule(known, state, params);
  return { id: params.id, shard, parcels: await makeSchedules(tx, [prepared]), now: state.now };
}

/**
 * Replaces the spec of a schedule. An identical body changes nothing, unless its `when` counts from
 * now.
 */
export async function respec(
  { current, state, labels: locked, known }: EditContext,
  { change, body, author, whenNamed = true, restored, countFrom }: Respec,
): Promise<Decision> {
  const { paused, ...asked } = body;
  const { target: existing } = current.body;
  const given = withCredentials(asked.target, existing);
  const target = await sealCredentials(current.key, given, existing, known);
  const wanted = { ...asked, target };
  const counted = whenNamed && restored === undefined && isRelative(body);
  const holds = (await known.holdsOf(current.id)).filter(({ until }) => until === null || until > state.now);
  const ownChange = changeOfOwn(holds, { paused, author, now: state.now });
  const isRead = current.unread === null;
  const same = isRead && restored === undefined && !counted && sameJson(wanted, current.body);
  if (same && ownChange === null) return null;
  const entered = labelsBesides(labelsOf(body), labelsOf(current.body));
  const unlockedLabels = labelsBesides(entered, locked);
  if (unlockedLabels.length > 0) return { unlockedLabels: entered };
  const ofLabels = holdsOfLabels(holds, labelsOf(body), await known.holdsBinding(entered, current.key));
  // Out of the group or the tag, the schedule would run although its hold stands.
  refuseWider(author, ofLabels.remove);
  const kept = isRead && !counted && hasSameCadence(wanted, current.body);
  const spec: Spec =
    restored?.spec ??
    (await editedSpec(known.calendar, current, wanted, { now: state.now, kept, counted, countFrom }));
  if (!same) {
    const team = author.reach?.team ?? "";
    await known.quota.admitGroup(wanted.group, team, current.body.group);
    await known.refuseMovedGroup(current.key, wanted.group, current.body.group);
    const before = usageOf(current, current.payloadBytes ?? 0);
    await known.quota.take(current.key, changeBySpec(before, spec), team);
  }
  const holdChange = {
    set: [...(ownChange?.set ?? []), ...ofLabels.set],
    remove: [...(ownChange?.remove ?? []), ...ofLabels.remove],
  };
  const holdsChange = holdChange.set.length + holdChange.remove.length > 0;
  return {
    edit: {
      change,
      ...(same ? {} : { spec, ...(kept && restored === undefined ? { kept } : {}) }),
      ...(holdsChange ? { holds: holdChange } : {}),
      ...(restored === undefined ? {} : { detail: restored.detail }),
    },
    holdsAfter: holdsAfter(holds, holdChange, state.now),
  };
}

/** The change of the author's own hold that `paused` asks for; null if there is none. */
function changeOfOwn(
  holds: readonly Hold[],
  { paused, author, now }: { paused: boolean | undefined; author: Caller; now: Date },
): HoldChange | null {
  const own = ownHold(author.name);
  const standing = holds.find((hold) => isSameHold(hold, own));
  if (paused === false && standing !== undefined) {
    refuseWider(author, [standing]);
    return { remove: [own] };
  }
  if (paused !== true) return null;
  const hold: Hold = { ...own, reason: null, until: null, since: now, ...standing, ...madeBy(author) };
  if (standing === undefined) refuseFull(holds, hold);
  else if (!widens(hold, standing)) return null;
  return { set: [hold] };
}

export interface Respec {
  change: ScheduleChange;
  body: ScheduleBody;
  author: Caller;
  /** False if a patch does not name `when`: a relative `when` then keeps its instant. */
  whenNamed?: boolean;
  /** The spec of an older version, already resolved, and its detail for the audit. */
  restored?: { spec: Spec; detail: Json };
  /** Start of relative times; the cut if left out. */
  countFrom?: Date | undefined;
}
