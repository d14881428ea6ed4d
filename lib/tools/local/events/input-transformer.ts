import { parseJson } from "./operation-input.ts";

/** The text that a target receives instead of the event: a template with parts of the event. */
export interface InputTransformer {
  /** Paths such as `$.detail.order.id`, by the names of the template's variables. */
  paths: Readonly<Record<string, string>>;
  template: string;
}

/** The values that the bus itself adds to the event. */
export interface Ingested {
  ruleName: string;
  ruleArn: string;
  ingestedAt: string;
}

/** Variables that need no path. */
const predefined = [
  "aws.events.rule-arn",
  "aws.events.rule-name",
  "aws.events.event.ingestion-time",
  "aws.events.event",
  "aws.events.event.json",
] as const;

const placeholders = /<([\w.-]+)>/g;

/** The reason why EventBridge would reject the transformer; null when it would accept it. */
export function transformerFault({ paths, template }: InputTransformer): string | null {
  const known = new Set<string>([...Object.keys(paths), ...predefined]);
  for (const [, name = ""] of template.matchAll(placeholders))
    if (!known.has(name)) return `Invalid InputTemplate: there is no variable <${name}>.`;
  const reserved = Object.keys(paths).find((name) => /^aws\./i.test(name));
  if (reserved !== undefined)
    return `InputPathsMap: names that begin with AWS. are reserved, not ${reserved}.`;
  const odd = Object.entries(paths).find(([, path]) => stepsOf(path) === null);
  if (odd !== undefined) return `InputPathsMap: ${odd[1]} is not a path such as $.detail.order[0].`;
  if (parseJson(filled(template, () => null)) === undefined)
    return "Invalid InputTemplate: it takes a JSON object or a string in quotes.";
  return null;
}

/** The template with its variables replaced by parts of the event. */
export function transformed(
  { paths, template }: InputTransformer,
  event: object,
  ingested: Ingested,
): string {
  const { detail: _, ...withoutDetail } = { detail: null, ...event };
  const own = new Map<string, unknown>([
    ["aws.events.rule-arn", ingested.ruleArn],
    ["aws.events.rule-name", ingested.ruleName],
    ["aws.events.event.ingestion-time", ingested.ingestedAt],
    ["aws.events.event", withoutDetail],
    ["aws.events.event.json", event],
  ]);
  return filled(template, (name) => (own.has(name) ? own.get(name) : partAt(event, paths[name] ?? "")));
}

/**
 * Outside of quotes a variable becomes JSON, so a string keeps its quotes. Inside of quotes a
 * string is escaped as in JSON, and any other value becomes JSON without quotes. A missing value
 * becomes empty.
 */
function filled(template: string, partOf: (name: string) => unknown): string {
  let text = "";
  let at = 0;
  let quoted = false;
  for (const found of template.matchAll(placeholders)) {
    const before = template.slice(at, found.index);
    quoted = endsInString(before, quoted);
    const value = partOf(found[1] ?? "");
    text += before + (quoted ? within(value) : alone(value));
    at = found.index + found[0].length;
  }
  return text + template.slice(at);
}

function alone(value: unknown): string {
  return value === undefined ? '""' : JSON.stringify(value);
}

function within(value: unknown): string {
  if (value === undefined) return "";
  if (typeof value === "string") return JSON.stringify(value).slice(1, -1);
  return JSON.stringify(value).replaceAll('"', "");
}

/** Whether the text after this one is inside of quotes; escaped quotes do not count. */
function endsInString(text: string, startsInString: boolean): boolean {
  const quotes = text.replace(/\\./gs, "").split('"').length - 1;
  return quotes % 2 === 0 ? startsInString : !startsInString;
}

/** The steps of a path such as `$.detail.items[0].id`; null when it is not a valid path. */
function stepsOf(path: string): (string | number)[] | null {
  if (!/^\$((\.[\w/-]+)|(\[\d+\]))*$/.test(path)) return null;
  return [...path.matchAll(/\.([\w/-]+)|\[(\d+)\]/g)].map(([, name, index]) => name ?? Number(index));
}

function partAt(event: unknown, path: string): unknown {
  return (stepsOf(path) ?? []).reduce<unknown>((value, step) => {
    if (typeof value !== "object" || value === null) return undefined;
    return Object.hasOwn(value, step) ? Reflect.get(value, step) : undefined;
  }, event);
}
