import { isDeepStrictEqual } from "node:util";
import { deployments, templateOf } from "./deployments.ts";
import { type FrozenPart, type FrozenTemplate, frozenTemplate, outputType } from "./frozen-template.ts";
import type { Release } from "./released-file.ts";

/** A part of a release that an upgrade to this version would replace or remove. */
export interface Replacement {
  readonly id: string;
  readonly why: string;
}

/** This version, in the same form as a release. */
export function presentRelease(version: string, parameters: readonly string[]): Release {
  const frozen = Object.entries(deployments()).map(([name, settings]) => [
    name,
    { settings, frozen: frozenTemplate(templateOf(name, settings)) },
  ]);
  return { version, parameters, deployments: Object.fromEntries(frozen) };
}

/**
 * The parts of a release that an upgrade would replace or remove, in any of its deployments. Each is
 * deployed again with the same settings. `templates` makes the template of this version.
 */
export function replacements(
  release: Release,
  parameters: readonly string[],
  templates: typeof templateOf = templateOf,
): Replacement[] {
  const found = new Map<string, Replacement & { where: string[] }>();
  for (const [name, { settings, frozen }] of Object.entries(release.deployments))
    for (const each of lost(frozen, frozenTemplate(templates(name, settings)))) {
      const key = `${each.id} ${each.why}`;
      const before = found.get(key) ?? { ...each, where: [] };
      before.where.push(name);
      found.set(key, before);
    }
  const parameterless = release.parameters.filter((name) => !parameters.includes(name));
  return [
    ...[...found.values()].map(({ id, why, where }) => ({ id, why: `${why}, in: ${where.join("; ")}` })),
    ...parameterless.map((id) => ({ id, why: `The parameter ${id} of the plain template is removed` })),
  ];
}

function lost(before: FrozenTemplate, after: FrozenTemplate): Replacement[] {
  return Object.entries(before).flatMap(([id, part]) => {
    const why = difference(part, after[id]);
    return why === undefined ? [] : [{ id, why: `${id} (${part.type}) ${why}` }];
  });
}

function difference(before: FrozenPart, after: FrozenPart | undefined): string | undefined {
  if (after === undefined) return "is removed or has another logical id";
  if (after.type !== before.type) return `becomes ${after.type}`;
  const names = new Set([...Object.keys(before.fixed), ...Object.keys(after.fixed)]);
  const changed = [...names].filter((name) => !isDeepStrictEqual(before.fixed[name], after.fixed[name]));
  if (changed.length === 0) return undefined;
  return before.type === outputType
    ? `gets another ${changed.join(" and ")}`
    : `is replaced, with another ${changed.join(" and ")}`;
}
