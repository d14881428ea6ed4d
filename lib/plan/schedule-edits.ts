import { isDeepStrictEqual } from "node:util";
import { v7 as uuidv7 } from "uuid";
import { nextAfter } from "../cadence/cadence.ts";
import { parseWhen } from "../cadence/parse-when.ts";
import type { Sql, Tx } from "../db/connect.ts";
import { lockPlanShared } from "../db/locks.ts";
import { sqlState, violatedConstraint } from "../db/sql-state.ts";
import { handOver } from "../parcel/hand-over.ts";
import type { ParcelQueue } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import { type Hold, holdsOf, setHold } from "../schedule/holds.ts";
import { patchedSchedule } from "../schedule/merge-patch.ts";
import { parseScheduleBody, type ScheduleBody, whenFault } from "../schedule/schedule-body.ts";
import { findSchedule } from "../schedule/stored-schedule.ts";
import {
  cadenceId,
  insertSchedule,
  newScheduleId,
  type ScheduleChange,
  type Spec,
} from "../schedule/write-schedule.ts";
import { applyEdit, type Edit, type EditContext, heldFrom, lockForEdit } from "./edit.ts";
import type { MadeParcel } from "./fire.ts";
import { planFrom } from "./plan-schedule.ts";
import { readScheduleById, type ScheduleRead } from "./read-schedule.ts";
import { readShard, shardOf } from "./shard.ts";

export interface EditDeps {
  sql: Sql;
  queue: ParcelQueue;
}

/** The versions of which the schedule must have one; "*" for any, as long as it exists. */
export type IfMatch = readonly number[] | "*";

export interface EditWish {
  key: string;
  caller: { name: string };
  ifMatch?: IfMatch | undefined;
}

export interface EditDone {
  change: "created" | "changed" | "unchanged";
  schedule: ScheduleRead;
}

export function putSchedule(
  deps: EditDeps,
  wish: EditWish & { body: ScheduleBody; ifNoneMatch?: boolean | undefined },
): Promise<EditDone> {
  const { key, body, caller } = wish;
  return edit(deps, wish, {
    missing: (tx) => {
      if (wish.ifMatch !== undefined)
        throw new Refusal("precondition", `There is no schedule ${key} that could match.`);
      return create(tx, key, body, caller.name);
    },
    decide: async (tx, context) => {
      if (wish.ifNoneMatch === true) throw new Refusal("precondition", `The schedule ${key} exists already.`);
      return respec(tx, context, "replaced", body, caller.name);
    },
  });
}

export function createSchedule(
  deps: EditDeps,
  wish: { key?: string | undefined; body: ScheduleBody; caller: { name: string } },
): Promise<EditDone> {
  const key = wish.key ?? uuidv7();
  return edit(
    deps,
    { key, caller: wish.caller },
    {
      missing: (tx) => create(tx, key, wish.body, wish.caller.name),
      decide: () => {
        throw new Refusal("conflict", `The schedule ${key} exists already.`, [
          { path: "key", message: "is taken" },
        ]);
      },
    },
  );
}

export function patchSchedule(deps: EditDeps, wish: EditWish & { patch: unknown }): Promise<EditDone> {
  return edit(deps, wish, {
    decide: (tx, context) => {
      const body = parseScheduleBody(patchedSchedule(context.current.body, wish.patch));
      const names = typeof wish.patch === "object" && wish.patch !== null ? Object.keys(wish.patch) : [];
      return respec(tx, context, "patched", body, wish.caller.name, names.includes("when"));
    },
  });
}

export async function deleteSchedule(deps: EditDeps, wish: EditWish): Promise<void> {
  await edit(deps, wish, {
    decide: async () => ({ edit: { change: "deleted", delete: true }, holdsLeft: false }),
  });
}

export interface PauseWish extends EditWish {
  reason?: string | undefined;
  until?: Date | undefined;
  owner?: string | undefined;
}

export function pauseSchedule(deps: EditDeps, wish: PauseWish): Promise<EditDone> {
  return edit(deps, wish, {
    decide: async (tx, { current, state }) => {
      const owner = wish.owner ?? wish.caller.name;
      if (wish.until !== undefined && wish.until <= state.now) {
        throw new Refusal("invalid", "The pause would be over already.", [
          { path: "until", message: "lies in the past" },
        ]);
      }
      const hold: Hold = { owner, reason: wish.reason ?? null, until: wish.until ?? null, since: state.now };
      const standing = (await holdsOf(tx, [current.id]))
        .get(current.id)
        ?.find((each) => each.owner === owner);
      if (standing !== undefined && isDeepStrictEqual({ ...standing, since: hold.since }, hold)) return null;
      return { edit: { change: "paused", setHold: hold }, holdsLeft: true };
    },
  });
}

export function resumeSchedule(
  deps: EditDeps,
  wish: EditWish & { owner?: string | undefined },
): Promise<EditDone> {
  return edit(deps, wish, {
    decide: async (tx, { current }) => {
      const owner = wish.owner ?? wish.caller.name;
      const holds = (await holdsOf(tx, [current.id])).get(current.id) ?? [];
      if (!holds.some((each) => each.owner === owner)) return null;
      return { edit: { change: "resumed", removeHold: owner }, holdsLeft: holds.length > 1 };
    },
  });
}

/** Lets go of a hold whose end has come, unless it has been renewed or released meanwhile. */
export function releaseEndedHold(
  deps: EditDeps,
  { key, owner }: { key: string; owner: string },
): Promise<EditDone> {
  const wish = { key, caller: { name: "carillon" } };
  return edit(deps, wish, {
    decide: async (tx, { current, state }) => {
      const holds = (await holdsOf(tx, [current.id])).get(current.id) ?? [];
      const hold = holds.find((each) => each.owner === owner);
      if (hold === undefined || hold.until === null || hold.until > state.now) return null;
      return { edit: { change: "resumed", removeHold: owner }, holdsLeft: holds.length > 1 };
    },
  });
}

/** What is to be done with a schedule that was found and locked; null where it already is as wished. */
type Decision = { edit: Edit; holdsLeft: boolean } | null;

interface EditSteps {
  /** What to do where the key is free; without it, the schedule must exist. */
  missing?: (tx: Tx) => Promise<{ id: string; parcels: MadeParcel[] }>;
  decide: (tx: Tx, context: EditContext) => Promise<Decision>;
}

/** One edit in one transaction, tried again when somebody took or freed the key meanwhile; its parcels are sent after the commit. */
async function edit(deps: EditDeps, wish: EditWish, steps: EditSteps): Promise<EditDone> {
  for (let attempt = 1; ; attempt++) {
    try {
      const done = await deps.sql.begin((tx) => editOnce(tx, wish, steps));
      if (done !== "again") {
        await handOver(deps.sql, deps.queue, done.parcels);
        return done;
      }
    } catch (error) {
      if (!mayPass(error) || attempt === attemptsMax) throw error;
    }
    if (attempt === attemptsMax)
      throw new Refusal(
        "conflict",
        `The schedule ${wish.key} is being created and deleted by others at this moment.`,
      );
  }
}

const attemptsMax = 5;

function mayPass(error: unknown): boolean {
  const state = sqlState(error);
  if (state === "deadlock" || state === "serialization_failure") return true;
  return state === "unique_violation" && violatedConstraint(error) === "schedules_live_key";
}

async function editOnce(
  tx: Tx,
  wish: EditWish,
  steps: EditSteps,
): Promise<(EditDone & { parcels: MadeParcel[] }) | "again"> {
  const found = await findSchedule(tx, wish.key);
  if (found === null) {
    if (steps.missing === undefined) throw new Refusal("missing", `There is no schedule ${wish.key}.`);
    const { id, parcels } = await steps.missing(tx);
    return { change: "created", schedule: await readScheduleById(tx, id), parcels };
  }
  const context = await lockForEdit(tx, found);
  if (context === null) return "again";
  const { current } = context;
  if (wish.ifMatch !== undefined && wish.ifMatch !== "*" && !wish.ifMatch.includes(current.version)) {
    throw new Refusal("precondition", `The schedule ${wish.key} is at version ${current.version}.`);
  }
  const decision = await steps.decide(tx, context);
  if (decision === null)
    return { change: "unchanged", schedule: await readScheduleById(tx, current.id), parcels: [] };
  const parcels = await applyEdit(tx, context, decision.edit, decision.holdsLeft, wish.caller.name);
  return { change: "changed", schedule: await readScheduleById(tx, current.id), parcels };
}

async function create(
  tx: Tx,
  key: string,
  body: ScheduleBody,
  author: string,
): Promise<{ id: string; parcels: MadeParcel[] }> {
  const id = await newScheduleId(tx);
  const shard = shardOf(id);
  const [, state] = await Promise.all([lockPlanShared(tx, shard), readShard(tx, shard)]);
  const spec = resolve(key, body, state.now);
  const cron = await cadenceId(tx, spec.cadence);
  const { cadence } = spec;
  const first = cadence.kind === "once" ? cadence.at : nextAfter(cadence, state.now.getTime());
  const heldSince = body.paused === true ? heldFrom(first, state.now) : null;
  await insertSchedule(
    tx,
    { id, key, shard, spec, cadenceId: cron, heldSince },
    { name: author, at: state.now },
  );
  if (heldSince !== null) {
    await setHold(tx, id, { owner: author, reason: null, until: null, since: state.now });
    return { id, parcels: [] };
  }
  return {
    id,
    parcels: await planFrom(tx, state, { id, version: 1, cadence, cadenceId: cron }, first, "missed"),
  };
}

/** Replaces what a schedule asks for. An identical body changes nothing, unless its `when` counts from now. */
async function respec(
  tx: Tx,
  { current, state }: EditContext,
  change: ScheduleChange,
  body: ScheduleBody,
  author: string,
  whenNamed = true,
): Promise<Decision> {
  const { paused, ...wanted } = body;
  const sameWhen = wanted.when === current.body.when && wanted.timezone === current.body.timezone;
  const counted = whenNamed && isRelative(current.key, body, state.now);
  const holds = (await holdsOf(tx, [current.id])).get(current.id) ?? [];
  const own = holds.some(({ owner }) => owner === author);
  const holding = paused === true && !own;
  const releasing = paused === false && own;
  const same = sameWhen && !counted && isDeepStrictEqual(asStored(wanted), current.body);
  if (same && !holding && !releasing) return null;
  // A cadence that is not touched keeps its phase: an interval goes on counting from where it began.
  const spec: Spec =
    sameWhen && !counted
      ? { body: wanted, cadence: current.cadence }
      : resolve(current.key, wanted, state.now);
  const left = holds.length + (holding ? 1 : 0) - (releasing ? 1 : 0);
  return {
    edit: {
      change,
      ...(same ? {} : { spec }),
      ...(holding ? { setHold: { owner: author, reason: null, until: null, since: state.now } } : {}),
      ...(releasing ? { removeHold: author } : {}),
    },
    holdsLeft: left > 0,
  };
}

/** As it would be read back: JSON has no negative zero. */
function asStored(body: ScheduleBody): unknown {
  return JSON.parse(JSON.stringify(body));
}

function resolve(key: string, body: ScheduleBody, now: Date): Spec {
  const parsed = parseWhen(body.when, { timezone: body.timezone, now: now.getTime(), key });
  if (parsed.ok) return { body, cadence: parsed.cadence };
  throw new Refusal(
    parsed.kind === "unsupported" ? "impossible" : "invalid",
    "The `when` cannot be planned.",
    [whenFault(parsed)],
  );
}

function isRelative(key: string, body: ScheduleBody, now: Date): boolean {
  const parsed = parseWhen(body.when, { timezone: body.timezone, now: now.getTime(), key });
  return parsed.ok && parsed.relative;
}
