import { readFileSync } from "node:fs";
import type { z } from "zod";
import { stackSettings } from "../../infra/settings/stack.ts";
import { settingsShape } from "../../infra/settings.ts";

/** The files in infra/settings/ whose settings an app may give. */
export const settingAreas = [
  "database",
  "network",
  "work",
  "retention",
  "api",
  "targets",
  "operations",
  "keys",
] as const;
export const shape: Readonly<Record<string, z.ZodType>> = { ...stackSettings, ...settingsShape.shape };

export interface Written {
  readonly name: string;
  readonly sentence: string;
}

export interface Area {
  readonly title: string;
  readonly settings: readonly Written[];
}

/** Reads a file of settings; the sentence of each setting is the comment above it. */
export function areaIn(file: string): Area {
  const text = readFileSync(new URL(`../../infra/settings/${file}.ts`, import.meta.url), "utf8");
  const [, title, body] =
    /^\/\*\* ([^\n]+?) \*\/\nexport const \w+Settings = \{\n(.*?)^\};/ms.exec(text) ?? [];
  if (title === undefined || body === undefined)
    throw new Error(`infra/settings/${file}.ts has no "export const …Settings" with a comment above it.`);
  const settings = [...body.matchAll(/^(?: {2}\/\*\*((?:(?!\*\/).)*)\*\/\n)? {2}(\w+):/gms)].map(
    ([, comment, name = ""]) => {
      if (comment === undefined)
        throw new Error(`infra/settings/${file}.ts: ${name} has no comment above it.`);
      return { name, sentence: comment.replaceAll(/\s*\n\s+\* ?/g, " ").trim() };
    },
  );
  return { title, settings };
}

export function defaultOf(name: string): string {
  const value = shape[name]?.parse(undefined);
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  return `\`${String(value)}\``;
}
