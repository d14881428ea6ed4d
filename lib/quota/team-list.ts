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

/** The state of the list of teams as a transaction sees it. */
export interface TeamState {
  /** Changes with each new team, and with the limits. */
  mark: string;
  /** The lengths of all prefixes, in characters. There are few of them, however many teams there are. */
  lengths: readonly number[];
  /** The prefixes of moves to other installations. */
  movedOut: readonly string[];
}

/** The teams and limits that this process has read, for one state of the list. */
interface Known {
  limits: Promise<readonly QuotaLimit[]>;
  /** By prefix; null for a prefix that is none of a team. */
  teams: Map<string, Team | null>;
}

/** One state of one database is nearly always enough. A new one comes with each new prefix. */
const knownIn = new BoundedMap<string, Known>(20);
const teamsMax = 50_000;

/** Sent with the first statements of an edit, so that it costs no round trip. */
export async function readTeamState(tx: Tx): Promise<TeamState> {
  const [row] = await tx<TeamState[]>`select mark, lengths, moved_out as "movedOut" from carillon.team_list`;
  if (row === undefined) throw new Error("carillon.team_list has no row.");
  return row;
}

/** Reads the teams of these keys together, so that `teamsOf` each key asks the database no more. */
export async function knowTeams(tx: Tx, state: TeamState, keys: readonly string[]): Promise<void> {
  if (state.lengths.length === 0) return;
  const { teams, limits } = known(tx, state);
  const unknown = new Set(
    keys.flatMap((key) => prefixesOf(key, state)).filter((prefix) => !teams.has(prefix)),
  );
  if (unknown.size === 0) return;
  const found = await tx<{ id: number; prefix: string }[]>`
    select id, prefix from carillon.teams where prefix = any(${[...unknown]}::text[])`;
  const rows = await limits;
  const ids = new Map(found.map(({ id, prefix }) => [prefix, id]));
  for (const prefix of unknown) {
    const id = ids.get(prefix);
    teams.set(prefix, id === undefined ? null : { id, prefix, limits: limitsFor(prefix, rows) });
  }
}

/** The teams that count the schedule with this key, the longest prefix first. */
export async function teamsOf(tx: Tx, state: TeamState, key: string): Promise<Team[]> {
  await knowTeams(tx, state, [key]);
  const { teams } = known(tx, state);
  return prefixesOf(key, state)
    .toReversed()
    .flatMap((prefix) => teams.get(prefix) ?? []);
}

/** Makes the prefix one of a team. */
export async function makeTeam(tx: Tx, prefix: string): Promise<void> {
  await tx`select carillon.keep_team(${prefix})`;
}

/** As `makeTeam`, and returns the state of the list with it. */
export async function keepTeam(tx: Tx, prefix: string): Promise<TeamState> {
  await makeTeam(tx, prefix);
  return readTeamState(tx);
}

function known(tx: Tx, { mark }: TeamState): Known {
  const read = knownIn.get(mark);
  if (read !== undefined) return read;
  const limits = readLimits(tx);
  const made = { limits, teams: new BoundedMap<string, Team | null>(teamsMax) };
  knownIn.set(mark, made);
  // The transaction that waits for it gets the error, and the next one reads again.
  limits.catch(() => knownIn.delete(mark));
  return made;
}

export async function readLimits(tx: Tx): Promise<QuotaLimit[]> {
  return tx<QuotaLimit[]>`
    select prefix, kind, most::float8 as most from carillon.quota_limits`;
}

/** The beginnings of a key that may be prefixes, the shortest first. */
function prefixesOf(key: string, { lengths }: TeamState): string[] {
  // The database counts characters, and a character beyond U+FFFF has two units here.
  const characters = /[\uD800-\uDFFF]/.test(key) ? [...key] : null;
  const most = characters?.length ?? key.length;
  return lengths
    .filter((length) => length <= most)
    .map((length) => characters?.slice(0, length).join("") ?? key.slice(0, length));
}
