import type { Node } from "constructs";
import { z } from "zod";
import { apiSettings } from "./settings/api.ts";
import { databaseSettings } from "./settings/database.ts";
import type { GivenSettings } from "./settings/given.ts";
import { keysSettings } from "./settings/keys.ts";
import { networkSettings } from "./settings/network.ts";
import { operationsSettings } from "./settings/operations.ts";
import { retentionSettings } from "./settings/retention.ts";
import { stackSettings } from "./settings/stack.ts";
import { fitTogether, targetsSettings } from "./settings/targets.ts";
import { workSettings } from "./settings/work.ts";

/**
 * Every setting of a deployment, with its default. Given as context: `cdk deploy -c
 * carillon:databaseClass=t4g.small`, or in cdk.json.
 */
export const settingsShape = z
  .strictObject({
    ...databaseSettings,
    ...networkSettings,
    ...keysSettings,
    ...workSettings,
    ...retentionSettings,
    ...apiSettings,
    ...targetsSettings,
    ...operationsSettings,
  })
  .superRefine(fitTogether);

export type Settings = z.infer<typeof settingsShape>;

export const defaultSettings: Settings = settingsShape.parse({});

const PREFIX = "carillon:";

/** Settings of the stack, which only the context can give. */
const stackShape = z.object(stackSettings);

/** Reads the settings from the context, and reports every fault in one error. */
export function settingsFrom(node: Node): Settings {
  const given = givenIn(node).filter(([name]) => !(name in stackSettings));
  return read(Object.fromEntries(given), { prefix: PREFIX, faults: withoutPrefix(node) });
}

/**
 * Context that is named as a setting would have no effect. Only this repository's own app refuses it: an app
 * that makes the construct may have such context for itself.
 */
function withoutPrefix(node: Node): string[] {
  const context: Record<string, unknown> = node.getAllContext();
  return [...Object.keys(settingsShape.shape), ...Object.keys(stackSettings)]
    .filter((name) => name in context)
    .map((name) => `${name}: it is not read; did you mean ${PREFIX}${name}?`);
}

/** The stack name of this repository's own app. */
export function stackNameFrom(node: Node): string {
  const result = stackShape.safeParse(Object.fromEntries(givenIn(node)));
  if (result.success) return result.data.stackName;
  throw new Error(`${PREFIX}stackName: ${result.error.issues.map(({ message }) => message).join(", ")}`);
}

function givenIn(node: Node): [name: string, value: unknown][] {
  const context: Record<string, unknown> = node.getAllContext();
  return Object.entries(context)
    .filter(([name]) => name.startsWith(PREFIX))
    .map(([name, value]) => [name.slice(PREFIX.length), value]);
}

/**
 * The settings that an app passes in code, checked like those of the context; missing ones get
 * their defaults.
 */
export function checkedSettings(given: GivenSettings): Settings {
  return read(given, { prefix: "", faults: [] });
}

/** The settings of a file, or as texts, checked in the same way. */
export function settingsOfValues(given: Readonly<Record<string, unknown>>): Settings {
  return read(given, { prefix: "", faults: [] });
}

function read(
  given: object,
  { prefix, faults: others }: { prefix: string; faults: readonly string[] },
): Settings {
  const result = settingsShape.safeParse(given);
  if (result.success && others.length === 0) return result.data;
  const faults = (result.error?.issues ?? []).map((issue) => {
    if (issue.code !== "unrecognized_keys") return `${prefix}${String(issue.path[0])}: ${issue.message}`;
    const known = Object.keys(settingsShape.shape).join(", ");
    return `${issue.keys.map((key) => prefix + key).join(", ")}: there is no such setting; the settings are ${known}`;
  });
  throw new Error(["These settings cannot be used:", ...others, ...faults].join("\n  "));
}
