import { Token } from "aws-cdk-lib";

/**
 * Values for fields that are still tokens at synth, each valid in its place. A field without one is
 * left out, so that it has its default.
 */
const standIns: readonly [path: RegExp, standIn: string][] = [
  [/^when(\.\d+)?$/, "@daily"],
  [/^target\.webhook\.url$/, "https://unknown.example"],
  [/^target\.webhook\.secret/, `whsec_${"A".repeat(32)}`],
  [/^target\.(queue|lambda|handler|groupId|attributes|event|webhook\.headers)/, "unknown"],
  [/^(key|group|description|tags|calendar\.name|payload)/, "unknown"],
];

/** A target of which not even the kind is known. */
const anyTarget = { queue: "unknown" };

/**
 * The value as far as it is known at synth: tokens, and references that CloudFormation resolves, are
 * replaced by values that are valid in their places, or left out.
 */
export function knownParts(value: unknown, path = ""): unknown {
  if (isUnknown(value)) return standInFor(path, value);
  if (Array.isArray(value)) return value.map((each, index) => knownParts(each, `${path}.${index}`));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, inside]) => {
      const known = knownParts(inside, path === "" ? name : `${path}.${name}`);
      return known === undefined ? [] : [[name, known]];
    }),
  );
}

function isUnknown(value: unknown): boolean {
  return Token.isUnresolved(value) || (typeof value === "string" && value.includes("{{resolve:"));
}

function standInFor(path: string, value: unknown): unknown {
  if (path === "target") return anyTarget;
  if (path.startsWith("payload")) return typeof value === "number" ? 0 : "unknown";
  return standIns.find(([pattern]) => pattern.test(path))?.[1];
}
