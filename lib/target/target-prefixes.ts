import type { TargetKind, TargetPrefix } from "../config/target-settings.ts";
import type { Target } from "../schedule/shape/target-shape.ts";
import { keyOf } from "./pulse-envelope.ts";

/** A name that a target uses, and where it stands in the target. */
interface Named {
  kind: TargetKind;
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

/** Parts envelopes of pulses by whether the target is of the keys of their schedules. */
export function partByKeys(
  prefixes: readonly TargetPrefix[],
  target: Target,
  envelopes: readonly string[],
): { own: string[]; others: string[] } {
  // Nearly no target is kept for a prefix, and the envelopes of the others are not parsed.
  if (pathsOfOtherKeys(prefixes, target, "").length === 0) return { own: [...envelopes], others: [] };
  const { own = [], others = [] } = Object.groupBy(envelopes, (envelope) => {
    const key = keyOf(envelope);
    return typeof key !== "string" || pathsOfOtherKeys(prefixes, target, key).length === 0 ? "own" : "others";
  });
  return { own, others };
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
