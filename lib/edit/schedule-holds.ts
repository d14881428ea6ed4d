import { Refusal } from "../refusal.ts";
import { madeBy, refuseMore, refuseWider, widens } from "../schedule/hold-reach.ts";
import { carillonsOwn, type Hold, holdsAfter, isSameHold, ownHold } from "../schedule/holds.ts";
import { type EditDeps, type EditDone, type EditParams, type EditSteps, edit } from "./edit-transaction.ts";

export interface PauseParams extends EditParams {
  reason?: string | undefined;
  until?: Date | undefined;
  owner?: string | undefined;
}

/**
 * The most holds of one team on a schedule, beside those of its labels: every read shows all of
 * them. The holds of another team count for themselves, so that no team uses up the room of others.
 */
const holdsMax = 100;

/** Refuses another hold of the schedule itself if the team of its maker has the most already. */
export function refuseFull(holds: readonly Hold[], { team }: Hold): void {
  const own = holds.filter((each) => each.scope === "schedule" && each.team === team);
  refuseMore("impossible", { team, held: own.length, most: holdsMax, of: "this schedule" });
}

export function pauseSchedule(deps: EditDeps, params: PauseParams): Promise<EditDone> {
  return edit(deps, params, pauseSteps(params));
}

export function pauseSteps(params: Pick<PauseParams, "caller" | "reason" | "until" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = params.owner ?? params.caller.name;
      if (params.until !== undefined && params.until <= state.now) {
        throw new Refusal("invalid", "The pause ends in the past.", [
          { path: "until", message: "must be in the future" },
        ]);
      }
      const { reason = null, until = null } = params;
      const hold: Hold = { ...ownHold(owner), reason, until, since: state.now, ...madeBy(params.caller) };
      const holds = await known.holdsOf(current.id);
      const existing = holds.find((each) => isSameHold(each, hold));
      if (existing === undefined) refuseFull(holds, hold);
      else if (isAsAsked(existing, hold) && !widens(hold, existing)) return null;
      else refuseWider(params.caller, [existing]);
      return {
        edit: {
          change: "paused",
          holds: { set: [hold] },
          detail: { owner, reason, until: until?.toISOString() ?? null },
        },
        holdsAfter: holdsAfter(holds, { set: [hold] }, state.now),
      };
    },
  };
}

function isAsAsked(existing: Hold, { reason, until }: Hold): boolean {
  return existing.reason === reason && existing.until?.getTime() === until?.getTime();
}

export interface ResumeParams extends EditParams {
  owner?: string | undefined;
}

export function resumeSchedule(deps: EditDeps, params: ResumeParams): Promise<EditDone> {
  return edit(deps, params, resumeSteps(params));
}

/**
 * Without an owner, a hold that Carillon set by itself is released too: a caller who resumes has
 * fixed the cause.
 */
export function resumeSteps(params: Pick<ResumeParams, "caller" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = params.owner ?? params.caller.name;
      const holds = await known.holdsOf(current.id);
      const meant = [ownHold(owner), ...(params.owner === undefined ? [carillonsOwn] : [])];
      const remove = meant.flatMap((hold) => holds.find((each) => isSameHold(each, hold)) ?? []);
      const [first, also] = remove;
      if (first === undefined) return null;
      refuseWider(params.caller, remove);
      const detail = { owner: first.owner, ...(also === undefined ? {} : { also: also.owner }) };
      return {
        edit: { change: "resumed", holds: { remove }, detail },
        holdsAfter: holdsAfter(holds, { remove }, state.now),
      };
    },
  };
}
