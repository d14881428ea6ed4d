import type { ScheduleChange } from "../schedule/stored/version-rows.ts";

/**
 * An actor of the audit, named as what it is. Its name alone may be any word, such as `first`.
 */
export function actorText(name: string): string {
  if (name === "carillon") return "the tick";
  if (name === "queue:ingest") return "the ingest queue";
  const [, kind = "", own = ""] = /^(carillon|handler|queue|sql|jwt|iam|stack):(.+)$/i.exec(name) ?? [];
  switch (kind.toLowerCase()) {
    case "carillon":
      return `Carillon's ${own}`;
    case "handler":
      return `handler \`${own}\``;
    case "queue":
      return `queue \`${own}\``;
    case "sql":
      return `SQL role \`${own}\``;
    case "jwt":
      return `gateway caller \`${own}\` (JWT)`;
    case "iam":
      return iamText(own);
    case "stack":
      return `stack \`${own}\``;
    default:
      return `token \`${name}\``;
  }
}

/** `123456789012:role:billing` and the like. */
function iamText(own: string): string {
  const [account = "", kind = "", ...rest] = own.split(":");
  return `IAM ${kind} \`${rest.join(":")}\` of account ${account}`;
}

/** Such as `edited by token `ann` (version 2)`. */
export function editText({
  change,
  by,
  version,
}: {
  change: ScheduleChange;
  by: string;
  version: number;
}): string {
  const did = change === "replaced" || change === "patched" ? "edited" : change;
  return `${did} by ${actorText(by)} (version ${version})`;
}
