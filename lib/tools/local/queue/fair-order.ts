/**
 * The order of SQS's fair queues, as the documentation of AWS describes it. A group is noisy if it
 * has more than a tenth of the messages in flight and at least thirty of them, or more than a tenth
 * of the time that receivers spent recently. Messages of quiet groups are delivered first, and
 * of noisy groups the one with the fewest messages in flight comes next. A message without a group
 * is a group of its own, and always quiet.
 */
const noisyShare = 0.1;
const noisyInFlightMin = 30;

export type Group = string | undefined;

/** The messages that receivers have, and the time that they have spent. */
export interface Received {
  /** The group of each message in flight. */
  inFlight: readonly Group[];
  /** The share of the receivers' time that each group has had, from 0 to 1. */
  timeShares?: ReadonlyMap<string, number>;
}

/** The positions of the messages that are delivered next, `most` at most, of those that wait. */
export function nextFairly(waiting: Iterable<Group>, most: number, received: Received): number[] {
  const inFlight = counted(received.inFlight);
  const next: number[] = [];
  const noisy = new Map<string, number[]>();
  let position = 0;
  for (const group of waiting) {
    if (next.length >= most) break;
    if (group !== undefined && isNoisy(group, inFlight, received)) {
      const own = noisy.get(group) ?? [];
      noisy.set(group, own);
      if (own.length < most) own.push(position);
    } else next.push(position);
    position += 1;
  }
  return [...next, ...inTurn(noisy, most - next.length, inFlight)];
}

function isNoisy(group: string, inFlight: ReadonlyMap<string, number>, received: Received): boolean {
  const own = inFlight.get(group) ?? 0;
  const isAtWork = own >= noisyInFlightMin && own > noisyShare * received.inFlight.length;
  return isAtWork || (received.timeShares?.get(group) ?? 0) > noisyShare;
}

/** Always the first message of the group that has the fewest in flight, with those chosen before. */
function inTurn(groups: Map<string, number[]>, most: number, inFlight: Map<string, number>): number[] {
  const chosen: number[] = [];
  while (chosen.length < most) {
    const group = fewest(groups.keys(), inFlight);
    if (group === undefined) break;
    const [first, ...others] = groups.get(group) ?? [];
    if (first === undefined) groups.delete(group);
    else {
      chosen.push(first);
      groups.set(group, others);
      inFlight.set(group, (inFlight.get(group) ?? 0) + 1);
    }
  }
  return chosen;
}

function counted(groups: readonly Group[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const group of groups) if (group !== undefined) counts.set(group, (counts.get(group) ?? 0) + 1);
  return counts;
}

function fewest(groups: Iterable<string>, inFlight: ReadonlyMap<string, number>): string | undefined {
  let found: string | undefined;
  for (const group of groups)
    if (found === undefined || (inFlight.get(group) ?? 0) < (inFlight.get(found) ?? 0)) found = group;
  return found;
}
