import type { IfMatch } from "../../edit/edit-transaction.ts";
import { Refusal } from "../../refusal.ts";

export function etagOf(version: number): string {
  return `"${version}"`;
}

const entityTag = /^(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"$/;
const version = /^[1-9]\d{0,8}$/;

/**
 * The versions that an If-Match header names. Weak tags and tags that Carillon never gave out match
 * nothing (RFC 9110); a header that is not a list of tags is refused.
 */
export function readIfMatch(header: string | undefined): IfMatch | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === "*") return "*";
  return header.split(",").flatMap((part) => {
    const tag = entityTag.exec(part.trim());
    if (tag === null) throw headerFault("If-Match", 'takes `*` or entity tags such as `"3"`');
    const [, weak, opaque = ""] = tag;
    return weak === undefined && version.test(opaque) ? [Number(opaque)] : [];
  });
}

/** True for `*`, which asks for the edit only if the schedule does not exist yet. */
export function readIfNoneMatch(header: string | undefined): boolean {
  if (header === undefined) return false;
  if (header.trim() === "*") return true;
  throw headerFault("If-None-Match", "takes `*` only");
}

function headerFault(path: string, message: string): Refusal {
  return new Refusal("invalid", "A header is not understood.", [{ path, message }]);
}
