import type { Target } from "./target-shape.ts";

/** The kind of target by the name it has in the contract. */
export function targetKind(target: Target): "handler" | "event" | "queue" {
  if ("handler" in target) return "handler";
  return "event" in target ? "event" : "queue";
}

/** Messages and events are cheap and leave many at a time; a handler may take long and must not keep them waiting. */
export function queueClass(target: Target): "fast" | "slow" {
  return targetKind(target) === "handler" ? "slow" : "fast";
}
