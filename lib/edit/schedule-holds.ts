import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../refusal.ts";
import { carillonsOwn, type Hold, holdsAfter, isSameHold, ownHold } from "../schedule/holds.ts";
import { type EditDeps, type EditDone, type EditSteps, type EditWish, edit } from "./edit-transaction.ts";

export interface PauseWish extends EditWish {
  reason?: string | undefined;
  until?: Date | undefined;
  owner?: string | undefined;
}

/** Every read shows them all. */
const holdsMax = 100;

export function pauseSchedule(deps: EditDeps, wish: PauseWish): Promise<EditDone> {
  return edit(deps, wish, pauseSteps(wish));
}

export function pauseSteps(wish: Pick<PauseWish, "caller" | "reason" | "until" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = wish.owner ?? wish.caller.name;
      if (wish.until !== undefined && wish.until <= state.now) {
        throw new Refusal("invalid", "The pause would be over already.", [
          { path: "until", message: "lies in the past" },
        ]);
      }
      const { reason = null, until = null } = wish;
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

export interface ResumeWish extends EditWish {
  owner?: string | undefined;
}

export function resumeSchedule(deps: EditDeps, wish: ResumeWish): Promise<EditDone> {
  return edit(deps, wish, resumeSteps(wish));
}

/** Without an owner, what Carillon has held by itself is resumed too: whoever resumes has seen to what was wrong. */
export function resumeSteps(wish: Pick<ResumeWish, "caller" | "owner">): EditSteps {
  return {
    decide: async (_tx, { current, state, known }) => {
      const owner = wish.owner ?? wish.caller.name;
      const holds = await known.holdsOf(current.id);
      const meant = [ownHold(owner), ...(wish.owner === undefined ? [carillonsOwn] : [])];
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
