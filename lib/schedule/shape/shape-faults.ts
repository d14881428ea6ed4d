import type * as z from "zod";
import type { Fault } from "../../refusal.ts";
import { faultWords } from "./fault-words.ts";

/** A body may have a hundred thousand faults; an answer lists at most this many. */
export const faultsMax = 100;

const nameMax = 100;

/**
 * The path of a member below `path`: `target` and `queue` give `target.queue`, `tags` and 3 give
 * `tags[3]`.
 */
export function memberPath(path: string, member: PropertyKey): string {
  if (typeof member === "number") return `${path}[${member}]`;
  const name = shortened(String(member));
  return path === "" ? name : `${path}.${name}`;
}

/**
 * All faults that a schema found, each with its own path. The schema must have run with
 * `reportInput`.
 */
export function shapeFaults(error: z.ZodError): Fault[] {
  return error.issues.flatMap((issue) => issueFaults(issue, "")).slice(0, faultsMax);
}

type Issue = z.core.$ZodIssue;

function issueFaults(issue: Issue, above: string): Fault[] {
  const path = issue.path.reduce(memberPath, above);
  if (issue.code === "unrecognized_keys") {
    return issue.keys
      .slice(0, faultsMax)
      .map((key) => ({ path: memberPath(path, key), message: "is not a field here" }));
  }
  if (issue.code === "invalid_union") {
    const branch = meantBranch(issue.errors);
    return branch === null
      ? [{ path, message: faultWords(issue) }]
      : branch.flatMap((inner) => issueFaults(inner, path));
  }
  // A record refuses a member because of its name, so the faults of the name are reported.
  if (issue.code === "invalid_key") return issue.issues.flatMap((inner) => issueFaults(inner, path));
  return [{ path, message: faultWords(issue) }];
}

/**
 * The form of a union that the input most likely means, by its own fields; null if none is clear.
 */
function meantBranch(branches: readonly Issue[][]): Issue[] | null {
  const ranked = branches
    .map((branch) => ({ branch, strangeness: branch.reduce((sum, issue) => sum + strangeness(issue), 0) }))
    .sort((a, b) => a.strangeness - b.strangeness);
  const [best, second] = ranked;
  if (best === undefined || best.strangeness === second?.strangeness) return null;
  return best.branch;
}

function strangeness(issue: Issue): number {
  if (issue.code === "unrecognized_keys" && issue.path.length === 0) return issue.keys.length;
  return issue.code === "invalid_type" && issue.path.length <= 1 ? 1 : 0;
}

function shortened(name: string): string {
  return name.length <= nameMax ? name : `${name.slice(0, nameMax)}…`.toWellFormed();
}
