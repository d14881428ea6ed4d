import type { RefusedSource } from "../../data/refused-queries.ts";
import { choiceIn, textsIn } from "../../data/search-texts.ts";

export interface RefusedSearch {
  /** Without it: the queue. */
  of?: RefusedSource | undefined;
  prefix?: string | undefined;
  /** The command that is opened. */
  id?: string | undefined;
}

export function readRefusedSearch(search: Record<string, unknown>): RefusedSearch {
  const of = choiceIn(search, "of", ["queue", "inbox"]);
  return { ...textsIn(search, ["prefix", "id"]), ...(of === undefined ? {} : { of }) };
}
