import { isDeepStrictEqual } from "node:util";
import { Refusal } from "../refusal.ts";
import { type Hold, holdsOf } from "../schedule/holds.ts";
import { type EditDeps, type EditDone, type EditWish, edit } from "./edit-transaction.ts";

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
