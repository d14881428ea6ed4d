/**
 * The place of a call in the caller's code. It is taken before the first wait, since the caller's
 * frames are on the stack only until then, and read only if the call fails.
 */
export interface CallSite {
  readonly stack?: string;
}

export function callSite(): CallSite {
  return new Error();
}

/**
 * The error with a stack that begins at the caller's own line instead of inside the client. The
 * stack stays as it is where the caller's frames cannot be told from the client's: if both are
 * bundled into one file, or the engine has no stacks.
 */
export function seenFrom<Failed extends Error>(site: CallSite, error: Failed): Failed {
  const lines = site.stack?.split("\n") ?? [];
  const first = lines.findIndex((line) => isPlace(line) && !line.includes(client));
  if (client === "" || first < 0) return error;
  const head = /^Error:? *$/.test(lines[0] ?? "") ? [`${error.name}: ${error.message}`] : [];
  error.stack = [...head, ...lines.slice(first)].join("\n");
  return error;
}

/** Whether a line of a stack is a frame of someone's code, and not the engine's. */
function isPlace(line: string): boolean {
  return fileOf(line) !== "" && !line.includes("node:");
}

/** The file of a frame; empty for other lines. V8 writes `at name (file:1:2)`, others `name@file:1:2`. */
function fileOf(line: string): string {
  return /(?:\(|@|\bat (?:async )?)([^\s(@].*):\d+:\d+\)?$/.exec(line)?.[1] ?? "";
}

/** The client's file when it is bundled, else its folder. */
const client =
  (new Error().stack ?? "")
    .split("\n")
    .map(fileOf)
    .find((file) => file !== "")
    ?.replace(/request\/call-site\.[jt]s$/, "") ?? "";
