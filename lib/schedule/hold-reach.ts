import { Refusal } from "../refusal.ts";
import type { Hold } from "./holds.ts";
import type { Caller } from "./shape/caller.ts";

/** The reach that a hold keeps of the caller that sets it; nulls for Carillon's own holds. */
export function madeBy({ reach }: Caller): Pick<Hold, "reach" | "team"> {
  return { reach: reach?.prefix ?? null, team: reach?.team ?? null };
}

/**
 * Whether the caller reaches every key that the maker of the hold reached. Names do not decide: an
 * owner can be invented, and its token may be gone. A hold without a reach is Carillon's own.
 */
export function covers({ reach: own }: Pick<Caller, "reach">, { reach }: Pick<Hold, "reach">): boolean {
  return own === undefined || reach === null || reach.startsWith(own.prefix);
}

/** Whether a hold that is set again keeps more keys from narrower callers than it does now. */
export function widens({ reach }: Pick<Hold, "reach">, existing: Pick<Hold, "reach">): boolean {
  return (
    reach !== null && existing.reach !== null && existing.reach !== reach && existing.reach.startsWith(reach)
  );
}

type Standing = Pick<Hold, "scope" | "name" | "owner" | "until" | "reach">;

/** Refuses to release or to change holds whose maker reached more keys than the caller. */
export function refuseWider(caller: Caller, holds: readonly Standing[]): void {
  const wider = holds.find((hold) => !covers(caller, hold));
  if (wider === undefined) return;
  const { scope, name, owner, until, reach } = wider;
  const of = scope === "schedule" ? "" : ` on the ${scope} ${JSON.stringify(name)}`;
  const keys = keysText(reach ?? "");
  const end = until === null ? "has no end" : `ends at ${until.toISOString()}`;
  throw new Refusal(
    "forbidden",
    `The hold of ${JSON.stringify(owner)}${of} was made by a caller that reaches ${keys}, and you reach only ${keysText(caller.reach?.prefix ?? "")}. It ${end}. A caller that reaches ${keys} can release or change it.`,
  );
}

/** Refuses another hold where the team of its maker has the most already. */
export function refuseMore(
  kind: "conflict" | "impossible",
  { team, held, most, of }: { team: Hold["team"]; held: number; most: number; of: string },
): void {
  if (held < most) return;
  throw new Refusal(
    kind,
    `${teamText(team)} have ${held} holds of ${of}, and at most ${most} are allowed: release one of them first, by its \`owner\`.`,
  );
}

/** The callers whose holds count together: those of one team, or those that reach every key. */
function teamText(team: Hold["team"]): string {
  return team === null || team === ""
    ? "Callers that reach all keys"
    : `Callers of the prefix ${JSON.stringify(team)}`;
}

function keysText(prefix: string): string {
  return prefix === "" ? "all keys" : `keys that begin with ${JSON.stringify(prefix)}`;
}
