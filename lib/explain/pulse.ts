import { isoInstant } from "../cadence/zone/civil.ts";
import type { Tx } from "../db/connect.ts";
import { heldAt, holdersText } from "./holds-then.ts";
import type { Facts, PulseFact, PulsesPassed, Verdict } from "./verdict.ts";

/** The facts about a pulse at each of these due times, in their order. */
export async function pulseFactsOf(
  tx: Tx,
  { id, shard }: { id: string; shard: number },
  dues: readonly number[],
): Promise<PulseFact[]> {
  const [state] = await tx<{ pulsedTo: Date }[]>`
    select pulsed_to as "pulsedTo" from carillon.shards where id = ${shard}`;
  if (state === undefined) throw new Error(`Shard ${shard} does not exist in carillon.shards.`);
  const rows = await tx<(PulsesPassed & { due: Date })[]>`
    select k.due, p.* from unnest(${tx.array(dues.map((due) => new Date(due)))}::timestamptz[]) k (due)
    cross join lateral (
      select from_at as "from", to_at as "to", reason, noted_at as "notedAt", target_id as "targetId", team_id as "teamId", count::float8
      from carillon.pulses_passed
      where shard = ${shard} and to_at >= k.due and from_at <= k.due
        and (target_id is null or target_id = (select p.target_id from carillon.pulses p where p.schedule_id = ${id}))
        and (team_id is null or team_id = (select p.team_id from carillon.pulses p where p.schedule_id = ${id}))
      order by target_id nulls first, to_at limit 1) p`;
  const passed = new Map(rows.map(({ due, ...range }) => [due.getTime(), range]));
  return dues.map((due) => ({ ...state, passed: passed.get(due) ?? null }));
}

/** Explains an occurrence of a pulse from its due time, the holds and the passed-over ranges. */
export function explainPulse(facts: Facts, { pulsedTo, passed }: PulseFact, due: number): Verdict {
  const at = isoInstant(due);
  const held = heldAt(facts, due);
  if (held !== null) {
    const verb = due > facts.now ? "Will not go: the schedule is" : "Did not go: the schedule was";
    const by = `held by ${holdersText(held.by)} since ${isoInstant(held.since)}`;
    return {
      outcome: due > facts.now ? "held" : "skipped",
      reason: "paused",
      sentence: `${verb} ${by}, and a pulse has no catch-up.`,
      heldBy: held.by,
    };
  }
  if (due > facts.now)
    return { outcome: "planned", sentence: `Is planned: it goes at ${at}, and leaves no record.` };
  if (passed !== null) return explainPassed(passed, at);
  if (due > pulsedTo.getTime()) {
    const behind = `the ticks have only reached ${isoInstant(pulsedTo.getTime())}`;
    return {
      outcome: "not-planned-yet",
      sentence: `Was due at ${at} and has not gone yet: ${behind}.`,
    };
  }
  return {
    outcome: "unrecorded",
    sentence: `Was due at ${at}. A pulse that was sent leaves no record; its shard passed over no pulse at that second, and its target refused none.`,
  };
}

const causes: Readonly<Record<string, string>> = {
  missed: "no tick came in time",
  late: "no worker came in time",
  crashed: "the workers that had claimed it did not finish",
  failed: "its target took none of them at any attempt",
  refused:
    "its target refused them, is for other keys (targetPrefixes) or cannot be read, or their message could not be built",
};

function explainPassed(
  { from, to, reason, notedAt, targetId, teamId, count }: PulsesPassed,
  at: string,
): Verdict {
  const range = `from ${isoInstant(from.getTime())} to ${isoInstant(to.getTime())}`;
  const cause = causes[reason] ?? reason;
  const noted = `noted at ${isoInstant(notedAt.getTime())}`;
  // It is not recorded which pulses of a target were given up, only how many.
  const sentence =
    targetId === null
      ? `Was due at ${at} and did not go: all pulses of ${teamId === null ? "" : "its team in "}its shard ${range} were passed over, because ${cause} (${noted}).`
      : `Was due at ${at}, and may not have gone: ${count === null ? "some" : count} of its target's pulses of its shard at that second were given up, because ${cause} (${noted}).`;
  return { outcome: "skipped", reason, sentence };
}
