import type { Target } from "./target-shape.ts";

/**
 * The name under which a target is counted and limited: one for all schedules with the same
 * handler, queue, bus or function, or with a webhook to the same host.
 */
export function targetName(target: Target): string {
  if ("handler" in target) return `handler/${target.handler}`;
  if ("event" in target) return `event/${target.event.bus}`;
  if ("queue" in target) return `queue/${target.queue}`;
  if ("lambda" in target) return `lambda/${target.lambda}`;
  return `webhook/${new URL(target.webhook.url).host}`;
}
