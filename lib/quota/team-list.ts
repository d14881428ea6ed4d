import { BoundedMap } from "../bounded-map.ts";
import type { QuotaLimit } from "../config/quota-setting.ts";
import type { Tx } from "../db/connect.ts";
import { limitsFor, type QuotaLimits } from "./quota-kinds.ts";

/** A prefix whose schedules are counted. */
export interface Team {
  id: number;
  prefix: string;
  limits: QuotaLimits;
}

/** A team with the teams whose prefixes begin with its own, or its own with theirs. */
export interface TeamPlace extends Team {
  /** The teams that also count its schedules, itself included, the longest prefix first. */
  chain: readonly TeamPlace[];
  /** The ids of the teams whose schedules it counts, its own included. */
  within: readonly number[];
}

export interface TeamList {
  /** The team with the longest prefix that the key has; null if it has none. */
  teamOf(key: string): TeamPlace | null;
  prefixes: ReadonlySet<string>;
}

/** The lists that this process has read. Of one database, a new one comes with each new prefix. */
const readBefore = new BoundedMap<string, TeamList>(20);

/**
 * The mark of the list as this transaction sees it. Sent with the first statements of an edit, so
 * that it costs no round trip.
 */
export async function readTeamMark(tx: Tx): Promise<string> {
  const [row] = await tx<{ mark: string }[]>`select mark from carillon.team_list`;
  if (row === undefined) throw new Error("carillon.team_list has no row.");
  return row.mark;
}

/** The list of this mark. A prefix of a caller that has no row yet gets one. */
export async function teamList(tx: Tx, mark: string, callersPrefix = ""): Promise<TeamList> {
  const list = readBefore.get(mark) ?? (await readList(tx, mark));
  if (callersPrefix === "" || list.prefixes.has(callersPrefix)) return list;
  await tx`select carillon.keep_team(${callersPrefix})`;
  return readList(tx, await readTeamMark(tx));
}

async function readList(tx: Tx, mark: string): Promise<TeamList> {
  const [teams, limits] = await Promise.all([
    tx<{ id: number; prefix: string }[]>`select id, prefix from carillon.teams`.execute(),
    readLimits(tx),
  ]);
  const list = listOf(teams, limits);
  readBefore.set(mark, list);
  return list;
}

export function readLimits(tx: Tx): PromiseLike<QuotaLimit[]> {
  return tx<QuotaLimit[]>`
    select prefix, kind, most::float8 as most from carillon.quota_limits`.execute();
}

export function listOf(
  teams: readonly { id: number; prefix: string }[],
  limits: readonly QuotaLimit[],
): TeamList {
  const places = new Map<string, TeamPlace & { within: number[] }>();
  const lengths = new Set<number>();
  // Ancestors come first: their prefixes are shorter.
  for (const { id, prefix } of teams.toSorted((a, b) => a.prefix.length - b.prefix.length)) {
    const above = longestOf(places, lengths, prefix);
    const chain: TeamPlace[] = [];
    const place = { id, prefix, limits: limitsFor(prefix, limits), chain, within: [id] };
    chain.push(place, ...(above?.chain ?? []));
    for (const each of above?.chain ?? []) places.get(each.prefix)?.within.push(id);
    places.set(prefix, place);
    lengths.add(prefix.length);
  }
  return {
    teamOf: (key) => longestOf(places, lengths, key) ?? null,
    prefixes: new Set(places.keys()),
  };
}

/** The prefixes have few lengths, so a key costs few lookups however many teams there are. */
function longestOf<Place>(
  places: ReadonlyMap<string, Place>,
  lengths: ReadonlySet<number>,
  key: string,
): Place | undefined {
  let longest: Place | undefined;
  // In the order of insertion, which is ascending.
  for (const length of lengths) {
    if (length > key.length) break;
    longest = places.get(key.slice(0, length)) ?? longest;
  }
  return longest;
}
