import { z } from "zod";
import { lifecycleEvents } from "../../lib/config/lifecycle-events.ts";
import { areaIn, defaultOf, type settingAreas, shape } from "./setting-areas.ts";

const commentWidth = 96;
/** That of biome.json. */
const lineWidth = 110;

/**
 * The text of a file in infra/settings/options/: the settings of an area as an interface, for the
 * package's declarations. They contain no types of zod, and an editor shows the comment of each.
 */
export function optionsOf(area: (typeof settingAreas)[number]): string {
  const { title, settings } = areaIn(area);
  const name = `${area.charAt(0).toUpperCase()}${area.slice(1)}Options`;
  const members = settings.map(({ name: setting, sentence }) => {
    const byDefault = defaultOf(setting);
    const text = wrapped(sentence);
    const lines = byDefault === "" ? text : [...text, "", `@default ${byDefault.replaceAll("`", "")}`];
    return comment(lines) + member(setting, typeOf(setting, shape[setting]));
  });
  const from = `infra/settings/${area}.ts`;
  return `// Written by \`npm run settings\` from ${from}; a test compares the two.\n\n/** ${title} */\nexport interface ${name} {\n${members.join("")}}\n`;
}

function member(name: string, type: string): string {
  const line = `  readonly ${name}?: ${type} | undefined;\n`;
  if (line.length <= lineWidth + 1) return line;
  return `  readonly ${name}?:\n    | ${type}\n    | undefined;\n`;
}

function comment(lines: readonly string[]): string {
  const [only = "", ...more] = lines;
  if (more.length === 0 && only.length < commentWidth) return `  /** ${only} */\n`;
  return `  /**\n${lines.map((line) => `   *${line === "" ? "" : ` ${line}`}\n`).join("")}   */\n`;
}

function wrapped(text: string): string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && `${line} ${word}`.length > commentWidth) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

/** The type of a setting as code passes it. A test compares all of them with the types of zod. */
function typeOf(name: string, schema: unknown): string {
  if (name === "lifecycleEvents") return `readonly (${oneOf(lifecycleEvents)})[]`;
  if (schema instanceof z.ZodDefault || schema instanceof z.ZodOptional) return typeOf(name, schema.unwrap());
  if (schema instanceof z.ZodEnum) return oneOf(schema.options);
  if (schema instanceof z.ZodNumber) return "number";
  if (schema instanceof z.ZodString) return "string";
  if (schema instanceof z.ZodArray) {
    const item = typeOf(name, schema.element);
    return item.includes("|") ? `readonly (${item})[]` : `readonly ${item}[]`;
  }
  if (schema instanceof z.ZodUnion && schema.safeParse(true).success) return "boolean";
  if (schema instanceof z.ZodPipe)
    return typeOf(name, schema.out instanceof z.ZodTransform ? schema.in : schema.out);
  throw new Error(`The type of ${name} is not known; tell test/support/settings-options.ts.`);
}

function oneOf(values: readonly (string | number)[]): string {
  return values.map((value) => JSON.stringify(value)).join(" | ");
}
