import { Refusal } from "../refusal.ts";
import type { Team } from "./team-list.ts";

/**
 * Refuses a group whose name begins with the prefix of another team. Jobs of a serial group wait for
 * each other, so a team could stop the jobs of another by a job of its own that never ends.
 */
export function refuseForeignGroup(group: string, teams: readonly Team[], callersPrefix: string): void {
  const foreign = teams.find(
    ({ prefix }) => !prefix.startsWith(callersPrefix) && !callersPrefix.startsWith(prefix),
  );
  if (foreign === undefined) return;
  throw new Refusal(
    "forbidden",
    `The group ${JSON.stringify(group)} belongs to the keys that begin with ${JSON.stringify(foreign.prefix)}, which your token does not reach.`,
    [{ path: "group", message: `begins with the prefix ${JSON.stringify(foreign.prefix)} of another team` }],
  );
}
