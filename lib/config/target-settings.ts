import type { Environment } from "./environment.ts";
import { prefixForm } from "./prefix-rates.ts";

/** The sources of events that schedules may use in a deployment that names none. */
export const eventSourcesByDefault: readonly string[] = ["carillon"];

/** A source, or the beginning of sources with `*` behind it. IAM compares it in the same way. */
export const eventSourceForm: RegExp = /^(?!aws\.)\w[\w.:/@-]{0,254}\*?$/i;

export const eventSourcesTakes =
  "it takes sources such as shop, or beginnings of sources such as shop.*, separated by commas; none may begin with aws.";

/** An empty list stands for the default, as it does in the settings of a deployment. */
export function eventSourcesFrom({
  CARILLON_TARGET_EVENT_SOURCES: text = "",
}: Environment): readonly string[] {
  if (text.trim() === "") return eventSourcesByDefault;
  const sources = text.split(",").map((each) => each.trim());
  const wrong = sources.find((each) => !eventSourceForm.test(each));
  if (wrong === undefined) return sources;
  throw new Error(
    `The environment variable CARILLON_TARGET_EVENT_SOURCES has the entry ${JSON.stringify(wrong)}: ${eventSourcesTakes}.`,
  );
}

/** Targets that only schedules whose keys begin with the prefix may name. */
export interface TargetPrefix {
  prefix: string;
  kind: TargetKind;
  /** A name, or the beginning of names with `*` behind it. */
  name: string;
}

const forms = {
  queue: /^[\w-]{1,80}(\.fifo)?\*?$/,
  bus: /^[\w./-]{1,256}\*?$/,
  source: eventSourceForm,
  function: /^[\w-]{1,64}\*?$/,
  handler: /^[a-z][a-z0-9-]{0,63}\*?$/,
} as const;

export type TargetKind = keyof typeof forms;

const form = `it takes a prefix of keys and one of ${Object.keys(forms).join(", ")} with a name or the beginning of names, such as billing:=queue/billing-*`;

/** Reads an entry of the setting `targetPrefixes`. Throws a sentence with the allowed form. */
export function parseTargetPrefix(text: string): TargetPrefix {
  // A prefix may contain `=`, and a name does not.
  const {
    prefix = "",
    kind = "",
    name = "",
  } = /^(?<prefix>.+)=(?<kind>[a-z]+)\/(?<name>[^=]+)$/u.exec(text)?.groups ?? {};
  if (!isKind(kind) || !prefixForm.test(prefix) || !forms[kind].test(name))
    throw new Error(`${form}, not ${text}`);
  return { prefix, kind, name };
}

const isKind = (text: string): text is TargetKind => Object.hasOwn(forms, text);

/** The entries in `TARGET_PREFIXES`, one per line, because prefixes may contain commas. */
export function targetPrefixesFrom({ TARGET_PREFIXES: text = "" }: Environment): readonly TargetPrefix[] {
  return text === "" ? [] : text.split("\n").map(parseTargetPrefix);
}
