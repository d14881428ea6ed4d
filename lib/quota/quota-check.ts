import type { Tx } from "../db/connect.ts";
import { refuseForeignGroup } from "./foreign-group.ts";
import { perMinute, perYearAllowed, type QuotaLimits } from "./quota-kinds.ts";
import { dayRefusal, quotaRefusal } from "./quota-refusal.ts";
import { readUsage, type UsageRead } from "./read-usage.ts";
import { keepTeam, type Team, type TeamState, teamsOf } from "./team-list.ts";
import { added, noUsage, type Usage } from "./usage.ts";

/** Checks the changes of one edit, or of edits that are decided together, before they are written. */
export interface QuotaCheck {
  /** The team that counts a schedule with this key; null if none does. */
  teamOf(key: string, callersPrefix: string): Promise<Team | null>;
  /**
   * Refuses a group that belongs to another team than the caller's, unless the schedule is in it. A
   * caller of all keys may use any.
   */
  admitGroup(group: string | null, callersPrefix: string, former?: string | null): Promise<void>;
  /**
   * Takes the change from the room of the key's team and of the teams above it. Throws a Refusal if
   * a quota has no room, and TeamNotLocked if it has little.
   */
  take(key: string, change: Usage, callersPrefix: string): Promise<void>;
}

/** The beginning of a transaction: the state of the list of teams, and the prefixes that it has locked. */
export interface QuotaStart {
  state: TeamState;
  locked: ReadonlySet<string>;
}

/**
 * Rolls an edit back, to begin it again with these teams locked. Only edits that may use up a quota
 * wait for each other.
 */
export class TeamNotLocked extends Error {
  override readonly name = "TeamNotLocked";
  readonly teams: readonly string[];

  constructor(teams: readonly string[]) {
    super("The edit takes much of the room of a quota, and must begin again with its team locked.");
    this.teams = teams;
  }
}

/**
 * An edit that takes more than this part of the room locks the team. As many smaller edits fit at
 * once, and a deployment has fewer connections.
 */
const crowd = 200;

/** A quota of schedules or of edits, in the unit in which usage is counted. */
interface Measure {
  kind: "schedules" | "firesPerMinute" | "payloadBytes" | "payloadBytesPerDay";
  most: (limits: QuotaLimits) => number | null;
  of: (usage: Usage) => number;
  /** The number as callers read it. */
  shown: (counted: number) => number;
}

const asCounted = (counted: number) => counted;

const measures: readonly Measure[] = [
  {
    kind: "schedules",
    most: ({ schedules }) => schedules,
    of: ({ schedules }) => schedules,
    shown: asCounted,
  },
  {
    kind: "firesPerMinute",
    most: ({ firesPerMinute }) => (firesPerMinute === null ? null : perYearAllowed(firesPerMinute)),
    of: ({ perYear }) => perYear,
    shown: perMinute,
  },
  {
    kind: "payloadBytes",
    most: ({ payloadBytes }) => payloadBytes,
    of: ({ payloadBytes }) => payloadBytes,
    shown: asCounted,
  },
  {
    kind: "payloadBytesPerDay",
    most: ({ payloadBytesPerDay }) => payloadBytesPerDay,
    of: ({ writtenBytes }) => writtenBytes,
    shown: asCounted,
  },
];

export function quotaCheck(tx: Tx, { state, locked }: QuotaStart): QuotaCheck {
  const used = new Map<string, Promise<UsageRead>>();
  const taken = new Map<string, Usage>();
  const usedBy = ({ prefix }: Team) => {
    const known = used.get(prefix) ?? readUsage(tx, prefix);
    used.set(prefix, known);
    return known;
  };
  let current = state;
  const chainOf = async (key: string, callersPrefix: string) => {
    const chain = await teamsOf(tx, current, key);
    const isKept = callersPrefix === "" || chain.some(({ prefix }) => prefix === callersPrefix);
    if (isKept || !key.startsWith(callersPrefix)) return chain;
    current = await keepTeam(tx, callersPrefix);
    return teamsOf(tx, current, key);
  };
  return {
    teamOf: async (key, callersPrefix) => (await chainOf(key, callersPrefix))[0] ?? null,
    admitGroup: async (group, callersPrefix, former) => {
      if (group === null || group === former || callersPrefix === "") return;
      refuseForeignGroup(group, await teamsOf(tx, current, group), callersPrefix);
    },
    take: async (key, change, callersPrefix) => {
      const chain = await chainOf(key, callersPrefix);
      const near: string[] = [];
      for (const team of chain) {
        const grown = limited(team, change);
        if (grown.length === 0) continue;
        const before = { used: await usedBy(team), taken: taken.get(team.prefix) ?? noUsage, change };
        const isTight = grown.map((measure) => takesMuch(team, measure, before)).includes(true);
        if (isTight && !locked.has(team.prefix)) near.push(team.prefix);
      }
      if (near.length > 0) throw new TeamNotLocked(near);
      for (const { prefix } of chain) taken.set(prefix, added(taken.get(prefix) ?? noUsage, change));
    },
  };
}

/** The quotas of a team that the change adds to. A change that adds nothing is never refused. */
function limited({ limits }: Team, change: Usage): Measure[] {
  return measures.filter(({ most, of }) => of(change) > 0 && most(limits) !== null);
}

/** Throws a Refusal if the team has no room for the change, beside what was taken before it. */
function takesMuch(
  { prefix, limits }: Team,
  { kind, most, of, shown }: Measure,
  { used, taken, change }: { used: UsageRead; taken: Usage; change: Usage },
): boolean {
  const allowed = most(limits) ?? Number.POSITIVE_INFINITY;
  const before = of(used) + of(taken);
  const after = before + of(change);
  if (after > allowed) {
    const numbers = { wanted: shown(after), used: shown(before), allowed: shown(allowed) };
    throw kind === "payloadBytesPerDay"
      ? dayRefusal(prefix, numbers, used.dayEndsAt)
      : quotaRefusal(prefix, kind, numbers);
  }
  return (after - of(used)) * crowd > allowed - of(used);
}
