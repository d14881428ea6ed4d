import { Token } from "aws-cdk-lib";

/**
 * Values for fields that are still tokens at synth, each valid in its place; the first match counts.
 * A field without one is left out, so that it has its default.
 */
const standIns: readonly [path: RegExp, standIn: unknown][] = [
  [/^when(\.\d+)?$/, "@daily"],
  // A target of which not even the kind is known.
  [/^target$/, { queue: "unknown" }],
  [/^target\.event$/, {}],
  [/^target\.webhook$/, { url: "https://unknown.example" }],
  [/^target\.webhook\.url$/, "https://unknown.example"],
  [/^target\.webhook\.secret/, `whsec_${"A".repeat(32)}`],
  [/^(tags|target\.attributes|target\.webhook\.headers)$/, undefined],
  [/^target\.(queue|lambda|handler|groupId|attributes|event|webhook\.headers)/, "unknown"],
  [/^(key|group|description|tags|calendar\.name|payload)/, "unknown"],
];

/**
 * The value as far as it is known at synth: tokens, and references that CloudFormation resolves, are
 * replaced by values that are valid in their places, or left out.
 */
export function knownParts(value: unknown, path = ""): unknown {
  if (isUnknown(value)) return standIns.find(([pattern]) => pattern.test(path))?.[1];
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
