import type { Hold } from "../../client/schedule.ts";
import type { OwnToken } from "../../client/tokens.ts";

/** The keys that the maker of a hold reached; null for a hold that Carillon has set by itself. */
type Reach = string | null | undefined;

/** Whether the maker of a hold reached keys beyond the prefix of a token (null: of all keys). */
export const isWider = (reach: Reach, prefix: string | null | undefined): reach is string =>
  reach != null && prefix != null && !reach.startsWith(prefix);

/** The kind of token that can release a hold. */
export const widerText = (reach: string): string =>
  reach === ""
    ? "set for all keys: only a token of all keys lifts it"
    : `set for keys that begin with ${reach}: only a token that reaches these lifts it`;

/** Carillon's own holds, which every token that may release may release. */
const carillonsOwner = "carillon";

/** Whether a token that may release holds of schedules may release this one. An admin may name any owner. */
export function mayReleaseOwn({ owner, reach }: Hold, own: OwnToken | undefined): boolean {
  if (own === undefined || isWider(reach, own.prefix)) return false;
  return own.scope === "admin" || owner === own.holdOwner || owner === carillonsOwner;
}
