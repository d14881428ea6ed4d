import { readFileSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { DeploymentSettings } from "./deployments.ts";
import type { FrozenPart, FrozenTemplate } from "./frozen-template.ts";

/** A release: its version, and what an upgrade from it must not replace. */
export interface Release {
  readonly version: string;
  /** The names of the parameters of the plain templates. */
  readonly parameters: readonly string[];
  readonly deployments: Readonly<
    Record<string, { readonly settings: DeploymentSettings; readonly frozen: FrozenTemplate }>
  >;
}

export const releasedFile = new URL("../../fixtures/released-templates.json", import.meta.url);

const part = z.object({ type: z.string(), fixed: z.record(z.string(), z.unknown()) }).nullable();
/** A part as most deployments have it, and the deployments that have another or none. */
const shared = z.object({ usual: part, except: z.record(z.string(), part).optional() });
const file = z.object({
  version: z.string(),
  parameters: z.array(z.string()),
  deployments: z.record(z.string(), z.record(z.string(), z.unknown()).nullable()),
  parts: z.record(z.string(), shared),
});

type Part = FrozenPart | null;

export function readRelease(text = readFileSync(releasedFile, "utf8")): Release {
  const { version, parameters, deployments, parts } = file.parse(JSON.parse(text));
  const frozenIn = (name: string) =>
    Object.entries(parts).flatMap(([id, { usual, except = {} }]): [string, FrozenPart][] => {
      const found = name in except ? except[name] : usual;
      return found ? [[id, found]] : [];
    });
  return {
    version,
    parameters,
    deployments: Object.fromEntries(
      Object.entries(deployments).map(([name, settings]) => [
        name,
        { settings, frozen: Object.fromEntries(frozenIn(name)) },
      ]),
    ),
  };
}

/** The text of the file, with a line for each part, so that a difference of two releases can be read. */
export function releaseText({ version, parameters, deployments }: Release): string {
  const names = Object.keys(deployments);
  const ids = new Set(Object.values(deployments).flatMap(({ frozen }) => Object.keys(frozen)));
  const parts = [...ids].toSorted().map((id) => {
    const found = names.map((name): [string, Part] => [name, deployments[name]?.frozen[id] ?? null]);
    return [id, sharedBy(found)] as const;
  });
  const settings = names.map((name) => [name, deployments[name]?.settings ?? null] as const);
  return `{
${[
  `"version": ${JSON.stringify(version)}`,
  `"parameters": ${JSON.stringify(parameters)}`,
  `"deployments": ${lines(settings)}`,
  `"parts": ${lines(parts)}`,
].join(",\n")}
}
`;
}

function sharedBy(found: readonly [string, Part][]): z.infer<typeof shared> {
  const groups: { part: Part; names: string[] }[] = [];
  for (const [name, part] of found) {
    const same = groups.find((group) => isDeepStrictEqual(group.part, part));
    if (same === undefined) groups.push({ part, names: [name] });
    else same.names.push(name);
  }
  const [usual, ...others] = groups.toSorted((a, b) => b.names.length - a.names.length);
  const except = others.flatMap(({ part, names }) => names.map((name) => [name, part] as const));
  return {
    usual: usual?.part ?? null,
    ...(except.length > 0 && { except: Object.fromEntries(except) }),
  };
}

const lines = (entries: readonly (readonly [string, unknown])[]) =>
  `{\n${entries.map(([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`).join(",\n")}\n}`;
