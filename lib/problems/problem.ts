import type { Amount } from "../stats/standing.ts";

/**
 * The kinds of problems, the worst first: what stops everything, what makes jobs late, what failed,
 * and what waits for a person.
 */
export const problemKinds = [
  "no-tick",
  "foreign-locks",
  "plan-behind",
  "no-worker",
  "late-jobs",
  "backlog-full",
  "move-unfinished",
  "target-full",
  "dead-jobs",
  "missed",
  "pulses-lost",
  "outages",
  "dead-commands",
  "inbox-errors",
  "quarantine",
  "old-holds",
] as const;

export type ProblemKind = (typeof problemKinds)[number];

/** Whether jobs start on time. */
export type Verdict = "on-time" | "late" | "stopped";

/** One thing that an engineer should look at. */
export interface Problem {
  kind: ProblemKind;
  /** When it began; null if that is not known. */
  since: Date | null;
  count: Amount;
  /** One sentence. */
  text: string;
  /** One of the counted things, by its id or key; null if it has none. */
  sample: string | null;
  /** The request that lists what was counted. */
  see: { path: string; query: Readonly<Record<string, string>> };
  /** The CLI command that lists it, or the best next step. */
  command: string;
}

interface Found extends Pick<Problem, "kind" | "since" | "count" | "text"> {
  sample?: string | null;
  path: string;
  query?: Readonly<Record<string, string>>;
  /** The command without the options that the query makes. */
  command: string;
}

/** A problem, with the request and the command that list the same. */
export function problem({ sample = null, path, query = {}, command, ...found }: Found): Problem {
  return { ...found, sample, see: { path, query }, command: commandWith(command, query) };
}

/** Options are named like the parameters of the request: `errorGroup` is `--error-group`. */
export function commandWith(command: string, query: Readonly<Record<string, string>>): string {
  const option = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  return [
    command,
    ...Object.entries(query).map(([name, value]) => `--${option(name)} ${quoted(value)}`),
  ].join(" ");
}

/** Quotes what a shell would read in another way. */
const quoted = (text: string): string =>
  /^[\w:./@-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;

/** The order in which problems are shown: by kind, then the largest first. */
export function ranked(problems: readonly Problem[]): Problem[] {
  const rank = new Map(problemKinds.map((kind, index) => [kind, index]));
  return problems.toSorted(
    (one, other) =>
      (rank.get(one.kind) ?? 0) - (rank.get(other.kind) ?? 0) || other.count.count - one.count.count,
  );
}

export const grouped = new Intl.NumberFormat("en-GB");

/** `1 job`, `3,000 jobs`, `more than 10,000 jobs`. */
export function amountText({ count, more }: Amount, one: string, several = `${one}s`): string {
  const number = grouped.format(count);
  return `${more ? `more than ${number}` : number} ${count === 1 && !more ? one : several}`;
}
