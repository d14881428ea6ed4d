import { createHash } from "node:crypto";

/** A name for a command, readable, and told apart by a hash of all that it is known by: it stays while that stays. */
export function commandKey(command: string, ...knownBy: readonly string[]): string {
  const hash = createHash("sha256").update(JSON.stringify(knownBy)).digest("hex").slice(0, 8);
  const slug = slugOf(command);
  return slug === "" ? hash : `${slug}-${hash}`;
}

const slugLengthMax = 40;

/**
 * The first plain words, up to the first option or where the shell takes over. Keys are shown everywhere and commands hold passwords:
 * URLs, assignments and what looks like a token are left out too.
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
