import { createHash } from "node:crypto";

/**
 * A key for a command: readable words and a hash. It stays the same while the parts in the hash do.
 */
export function commandKey(command: string, ...knownBy: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(knownBy)).digest("hex").slice(0, 8);
  const slug = slugOf(command);
  return slug === "" ? hash : `${slug}-${hash}`;
}

const slugLengthMax = 40;

/**
 * The first plain words, up to the first option or shell operator. Keys are shown in many places
 * and commands may hold passwords, so URLs, assignments and words that look like tokens are left
 * out.
 */
function slugOf(command: string): string {
  const own = command.replace(/^(\s*cd\s+\S+\s*(&&|;))+/, "");
  const [upToOperator = ""] = /^[^|;&<>]*/.exec(own) ?? [];
  const words = upToOperator.split(/\s+/);
  const option = words.findIndex((word) => word.startsWith("-"));
  const plain = (option === -1 ? words : words.slice(0, option))
    .filter((word) => /^[A-Za-z0-9_./~-]+$/.test(word))
    .map((word) => word.split("/").at(-1) ?? "")
    .filter((word) => !/^[A-Za-z0-9_-]{24,}$/.test(word));
  return plain
    .slice(0, 3)
    .join("-")
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-+|-+$/g, "")
    .slice(0, slugLengthMax)
    .replace(/-+$/, "");
}
