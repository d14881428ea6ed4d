import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../refusal.ts";
import { carillonsOwn, type Hold, holdsAfter, isSameHold, ownHold } from "../schedule/holds.ts";
import { type EditDeps, type EditDone, type EditParams, type EditSteps, edit } from "./edit-transaction.ts";

export interface PauseParams extends EditParams {
  reason?: string | undefined;
  until?: Date | undefined;
  owner?: string | undefined;
}

/** Limit of holds of one schedule: every read shows all of them. */
const holdsMax = 100;

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
      const hold: Hold = { ...ownHold(owner), reason, until, since: state.now };
      const holds = await known.holdsOf(current.id);
      const existing = holds.find((each) => isSameHold(each, hold));
      if (existing === undefined && holds.length >= holdsMax)
        throw new Refusal(
          "impossible",
          `The schedule has ${holds.length} holds, and at most ${holdsMax} are allowed.`,
        );
      if (existing !== undefined && isDeepStrictEqual({ ...existing, since: hold.since }, hold)) return null;
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
