import { readFileSync } from "node:fs";
import type { z } from "zod";
import { stackSettings } from "../../infra/settings/stack.ts";
import { settingsShape } from "../../infra/settings.ts";

const areas = ["stack", "database", "network", "work", "retention", "api", "targets", "operations"] as const;
const shape: Readonly<Record<string, z.ZodType>> = { ...stackSettings, ...settingsShape.shape };

const head = `# Settings

Everything that a deployment may decide. In this repository a setting is context, on the command line or in \`cdk.json\`:

\`\`\`sh
npx cdk deploy -c carillon:databaseClass=t4g.small -c carillon:highlyAvailable=true
\`\`\`

In an app of your own it is a property: \`new Carillon(this, "Carillon", { databaseClass: "t4g.small", highlyAvailable: true })\`, without
those of the stack. What resources are known by may be a token there, such as \`topic.topicArn\`. Lists are text with commas on the command
line, and may be JSON's lists elsewhere. What is wrong is refused at synth, all of it at once. [deploy.md](deploy.md) tells which of them to think about first.

This page is made by \`npm run settings\` from \`infra/settings/\`, and a test compares the two.
`;

interface Written {
  readonly name: string;
  readonly sentence: string;
}

interface Area {
  readonly title: string;
  readonly settings: readonly Written[];
}

/** What a file of settings says of each: the comment over it. */
function areaIn(file: string): Area {
  const text = readFileSync(new URL(`../../infra/settings/${file}.ts`, import.meta.url), "utf8");
  const [, title, body] =
    /^\/\*\* ([^\n]+?) \*\/\nexport const \w+Settings = \{\n(.*?)^\};/ms.exec(text) ?? [];
  if (title === undefined || body === undefined)
    throw new Error(`infra/settings/${file}.ts has no "export const …Settings" with a comment over it.`);
  const settings = [...body.matchAll(/^(?: {2}\/\*\*((?:(?!\*\/).)*)\*\/\n)? {2}(\w+):/gms)].map(
    ([, comment, name = ""]) => {
      if (comment === undefined)
        throw new Error(`infra/settings/${file}.ts: ${name} has no sentence over it.`);
      return { name, sentence: comment.replaceAll(/\s*\n\s+\* ?/g, " ").trim() };
    },
  );
  return { title, settings };
}

/** What it takes, in the words with which it refuses what is wrong. */
function takenBy(name: string): string {
  const schema = shape[name];
  if (schema === undefined) throw new Error(`${name} has a comment and is no setting.`);
  for (const wrong of ["# /", {}, 0]) {
    const message = schema.safeParse(wrong).error?.issues[0]?.message;
    const taken = /^it takes (?:a |an |the )?(.+?)(?:, not # \/)?$/s.exec(message ?? "")?.[1];
    if (taken !== undefined) return taken;
  }
  throw new Error(`${name} refuses what is wrong without saying what it takes.`);
}

function defaultOf(name: string): string {
  const value = shape[name]?.parse(undefined);
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return "";
  return `\`${String(value)}\``;
}

/** docs/settings.md, as it should be. Throws where a setting lacks its sentence, or does not say what it takes. */
export function settingsPage(): string {
  const written = areas.map(areaIn);
  const told = new Set(written.flatMap(({ settings }) => settings.map(({ name }) => name)));
  const untold = Object.keys(shape).filter((name) => !told.has(name));
  if (untold.length > 0) throw new Error(`These settings stand on no page: ${untold.join(", ")}.`);
  return [head, ...written.map(areaText)].join("\n");
}

function areaText({ title, settings }: Area): string {
  const rows = settings.map(
    ({ name, sentence }) =>
      `| \`${name}\` | ${cell(takenBy(name))} | ${defaultOf(name)} | ${cell(sentence)} |`,
  );
  const [heading = "", ...more] = title.split(/(?<=\.) /);
  const below = more.length === 0 ? [] : [more.join(" "), ""];
  return [
    `## ${heading.replace(/\.$/, "")}`,
    "",
    ...below,
    "| setting | takes | default | |",
    "|---|---|---|---|",
    ...rows,
    "",
  ].join("\n");
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|");
}
