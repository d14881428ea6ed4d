import { type CallSite, seenFrom } from "./call-site.ts";

/**
 * A text cannot be a name. Nothing was sent, because its URL would have been that of another
 * resource. Known by its name, as a CarillonProblem.
 */
export class CarillonInputError extends TypeError {
  static override [Symbol.hasInstance](value: unknown): boolean {
    return value instanceof TypeError && value.name === "CarillonInputError";
  }

  override readonly name = "CarillonInputError";
}

const lengthMax = 255;

/** Control and format characters, lone surrogates, line separators and noncharacters. */
const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/u;

/**
 * Why a text cannot be a key or the name of a group, a tag or a calendar; null if it can. The API
 * has the same rule, and a test compares the two.
 */
export function nameFault(name: string): string | null {
  const length = [...name].length;
  if (length < 1 || length > lengthMax) return `takes 1 to ${lengthMax} characters, has ${length}`;
  if (isStep(name)) return "may not be `.` or `..`";
  const [reserved] = /[/?#%\\]/.exec(name) ?? [];
  if (reserved !== undefined) return `may not hold \`${reserved}\` (nor any of \`/ ? # % \\\`)`;
  if (/^\s|\s$/u.test(name)) return "may not begin or end with a blank";
  return unprintable.test(name) ? "may hold printable characters only" : null;
}

/** Whether proxies and clients resolve the segment in a path: `.` and `..`, however encoded. */
function isStep(segment: string): boolean {
  return segment === "." || segment === "..";
}

/** The segment behind each of these is a name that callers choose. */
const named: Readonly<Record<string, string>> = {
  schedules: "The key",
  groups: "The group",
  tags: "The tag",
  calendars: "The name of the calendar",
  jobs: "The id of the job",
  tokens: "The id of the token",
  dead: "The id of the command",
};

/** Throws where a segment would change on its way to the server. */
export function refuseUnfitPath(path: readonly string[], site: CallSite): void {
  for (const [at, segment] of path.entries()) {
    const what = named[path[at - 1] ?? ""];
    const isName = what !== undefined && (at === 2 || path[at - 1] === "dead");
    // Without TypeScript a caller may pass undefined.
    const fault = typeof segment !== "string" ? "takes a text" : isName ? nameFault(segment) : unfit(segment);
    if (fault === null) continue;
    const sentence = `${what ?? "The path segment"} ${fault}: ${JSON.stringify(segment)}.`;
    throw seenFrom(site, new CarillonInputError(sentence));
  }
}

function unfit(segment: string): string | null {
  if (segment === "") return "may not be empty";
  if (isStep(segment)) return "may not be `.` or `..`";
  return /\p{Cs}/u.test(segment) ? "may hold printable characters only" : null;
}
