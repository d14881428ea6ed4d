import { isDeepStrictEqual } from "node:util";
import { v7 as uuidv7 } from "uuid";
import { nextAfter } from "../cadence/cadence.ts";
import { parseWhen } from "../cadence/parse-when.ts";
import type { Tx } from "../db/connect.ts";
import { lockPlanShared } from "../db/locks.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import { Refusal } from "../refusal.ts";
import { holdsOf, setHold } from "../schedule/holds.ts";
import { patchedSchedule } from "../schedule/merge-patch.ts";
import { parseScheduleBody, type ScheduleBody, whenFault } from "../schedule/schedule-body.ts";
import {
  cadenceId,
  insertSchedule,
  newScheduleId,
  type ScheduleChange,
  type Spec,
} from "../schedule/write-schedule.ts";
import { type EditContext, heldFrom } from "./edit.ts";
import { type Decision, type EditDeps, type EditDone, type EditWish, edit } from "./edit-transaction.ts";
import { planFrom } from "./plan-schedule.ts";
import { readShard, shardOf } from "./shard.ts";

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

async function create(
  tx: Tx,
  key: string,
  body: ScheduleBody,
  author: string,
): Promise<{ id: string; parcels: OutgoingParcel[] }> {
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
