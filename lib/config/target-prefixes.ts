import type { Target } from "../schedule/shape/target-shape.ts";
import type { Environment } from "./environment.ts";
import { eventSourceForm } from "./event-sources.ts";
import { prefixForm } from "./prefix-rates.ts";

/** Targets that only schedules whose keys begin with the prefix may name. */
export interface TargetPrefix {
  prefix: string;
  kind: Kind;
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

type Kind = keyof typeof forms;

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

const isKind = (text: string): text is Kind => Object.hasOwn(forms, text);

/** The entries in `TARGET_PREFIXES`, one per line, because prefixes may contain commas. */
export function targetPrefixesFrom({ TARGET_PREFIXES: text = "" }: Environment): readonly TargetPrefix[] {
  return text === "" ? [] : text.split("\n").map(parseTargetPrefix);
}

/** A name that a target uses, and where it stands in the target. */
interface Named {
  kind: Kind;
  name: string;
  path: string;
}

/**
 * The paths of names in a target that are of other keys than this one. Account and region do not
 * count: the same name elsewhere is of the same keys.
 */
export function pathsOfOtherKeys(prefixes: readonly TargetPrefix[], target: Target, key: string): string[] {
  if (prefixes.length === 0) return [];
  return namesIn(target).flatMap(({ kind, name, path }) => {
    const listed = prefixes.filter((each) => each.kind === kind && covers(each.name, name));
    return listed.length === 0 || listed.some(({ prefix }) => key.startsWith(prefix)) ? [] : [path];
  });
}

const covers = (listed: string, name: string) =>
  listed.endsWith("*") ? name.startsWith(listed.slice(0, -1)) : name === listed;

function namesIn(target: Target): Named[] {
  if ("handler" in target) return [{ kind: "handler", name: target.handler, path: "target.handler" }];
  if ("queue" in target)
    return [{ kind: "queue", name: target.queue.split(/[:/]/).at(-1) ?? "", path: "target.queue" }];
  if ("lambda" in target)
    return [{ kind: "function", name: functionName(target.lambda), path: "target.lambda" }];
  if (!("event" in target)) return [];
  const { bus, source } = target.event;
  return [
    { kind: "bus", name: bus.replace(/^arn:.*?:event-bus\//, ""), path: "target.event.bus" },
    // A stored target of an older release may lack it.
    { kind: "source", name: `${source}`, path: "target.event.source" },
  ];
}

/** Without region and account, alias and version. */
function functionName(lambda: string): string {
  const parts = lambda.split(":");
  return (lambda.startsWith("arn:") ? parts[6] : parts[0]) ?? "";
}
