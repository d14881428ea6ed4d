import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../refusal.ts";
import { carillonsOwn, type Hold, holdsAfter, isSameHold, ownHold } from "../schedule/holds.ts";
import { type EditDeps, type EditDone, type EditParams, type EditSteps, edit } from "./edit-transaction.ts";

export interface PauseParams extends EditParams {
  reason?: string | undefined;
  until?: Date | undefined;
  owner?: string | undefined;
}

/** Every read shows them all. */
const holdsMax = 100;

export function pauseSchedule(deps: EditDeps, params: PauseParams): Promise<EditDone> {
  return edit(deps, params, pauseSteps(params));
}

export function pauseSteps(params: Pick<PauseParams, "caller" | "reason" | "until" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = params.owner ?? params.caller.name;
      if (params.until !== undefined && params.until <= state.now) {
        throw new Refusal("invalid", "The pause would be over already.", [
          { path: "until", message: "lies in the past" },
        ]);
      }
      const { reason = null, until = null } = params;
      const hold: Hold = { ...ownHold(owner), reason, until, since: state.now };
      const holds = await known.holdsOf(current.id);
      const standing = holds.find((each) => isSameHold(each, hold));
      if (standing === undefined && holds.length >= holdsMax)
        throw new Refusal("impossible", `The schedule has ${holds.length} holds; more are not taken.`);
      if (standing !== undefined && isDeepStrictEqual({ ...standing, since: hold.since }, hold)) return null;
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

export interface ResumeParams extends EditParams {
  owner?: string | undefined;
}

export function resumeSchedule(deps: EditDeps, params: ResumeParams): Promise<EditDone> {
  return edit(deps, params, resumeSteps(params));
}

/** Without an owner, what Carillon has held by itself is resumed too: whoever resumes has seen to what was wrong. */
export function resumeSteps(params: Pick<ResumeParams, "caller" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = params.owner ?? params.caller.name;
      const holds = await known.holdsOf(current.id);
      const meant = [ownHold(owner), ...(params.owner === undefined ? [carillonsOwn] : [])];
      const remove = meant.filter((hold) => holds.some((each) => isSameHold(each, hold)));
      const [first, also] = remove;
      if (first === undefined) return null;
      const detail = { owner: first.owner, ...(also === undefined ? {} : { also: also.owner }) };
      return {
        edit: { change: "resumed", holds: { remove }, detail },
        holdsAfter: holdsAfter(holds, { remove }, state.now),
      };
    },
  };
}
