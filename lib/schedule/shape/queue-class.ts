import type { Target } from "./target-shape.ts";

export type TargetKind = "handler" | "event" | "queue" | "webhook" | "lambda";

/** The kind of target, by its name in the API. */
export function targetKind(target: Target): TargetKind {
  if ("handler" in target) return "handler";
  if ("event" in target) return "event";
  if ("queue" in target) return "queue";
  return "webhook" in target ? "webhook" : "lambda";
}

/**
 * Messages and events are fast and are sent many at a time; targets that may take long must not
 * delay them.
 */
export function queueClass(target: Target): "fast" | "slow" {
  const kind = targetKind(target);
  return kind === "queue" || kind === "event" ? "fast" : "slow";
}
