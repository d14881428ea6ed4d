import { isDeepStrictEqual } from "node:util";
import { type Environment, required } from "../config/environment.ts";
import { eventSourcesFrom, type TargetPrefix, targetPrefixesFrom } from "../config/target-settings.ts";
import { type Fault, Refusal } from "../refusal.ts";
import { eventFaults } from "../schedule/shape/event-names.ts";
import type { Target } from "../schedule/shape/target-shape.ts";
import { kept, type WebhookTarget } from "../schedule/shape/target-webhook-shape.ts";
import { isHidden, withValues } from "../schedule/shape/webhook-credentials.ts";
import { pathsOfOtherKeys } from "../target/target-prefixes.ts";
import { type Reach, reachFrom } from "../webhook/reach.ts";
import { readWebhookUrl } from "../webhook/webhook-url.ts";

/** ARNs, some of which end in `*`; null if everything is allowed, as it is locally. */
type Arns = readonly string[] | null;

/**
 * The targets that schedules of this deployment may send to. The workers have no rights beyond
 * these: without the check a job would fail at the worker, perhaps at night.
 */
export interface AllowedTargets {
  region: string;
  /** The account of queues, buses and functions that are named without an ARN. */
  account: string;
  queues: Arns;
  buses: Arns;
  /** Sources of events, some of which end in `*`. */
  sources: readonly string[];
  functions: Arns;
  webhooks: Reach;
  /** Targets that only schedules of some keys may name. */
  prefixes: readonly TargetPrefix[];
}

export function allowedTargetsFrom(env: Environment): AllowedTargets {
  return {
    region: required(env, "AWS_REGION"),
    account: env["TARGET_ACCOUNT"] ?? "",
    queues: arns(env["TARGET_QUEUES"]),
    buses: arns(env["TARGET_BUSES"]),
    sources: eventSourcesFrom(env),
    functions: arns(env["TARGET_FUNCTIONS"]),
    webhooks: reachFrom(env),
    prefixes: targetPrefixesFrom(env),
  };
}

function arns(list: string | undefined): Arns {
  return list === undefined ? null : list.split(",").filter((arn) => arn !== "");
}

/**
 * Refuses a target that workers of this deployment may not send to, or that a schedule with this key may
 * not name. Null if the key is not known yet.
 */
export function refuseForbiddenTarget(allowed: AllowedTargets, target: Target, key: string | null): void {
  const faults = [...faultsOf(allowed, target), ...(key === null ? [] : faultsOfKey(allowed, target, key))];
  if (faults.length > 0) throw new Refusal("impossible", "The target is not allowed here.", faults);
}

/**
 * Refuses a patch to a forbidden target. A target that the patch leaves unchanged is not checked,
 * even if the deployment has narrowed its lists since.
 */
export function refuseForbiddenChange(
  allowed: AllowedTargets,
  { target, before, key }: { target: Target; before: Target; key: string },
): void {
  const isSame =
    "webhook" in target && "webhook" in before
      ? shownUrl(target) === shownUrl(before)
      : isDeepStrictEqual(target, before);
  if (!isSame) refuseForbiddenTarget(allowed, target, key);
}

/** The URL without the credentials in its query, which a patch leaves out. */
function shownUrl(target: WebhookTarget): string {
  const { webhook } = target;
  return withValues(webhook, (each) => (isHidden(webhook, each) ? kept : each.value)).url;
}

/** The message names no prefix: it may be that of another team. */
function faultsOfKey({ prefixes }: AllowedTargets, target: Target, key: string): Fault[] {
  const message = "is for schedules with other keys alone (targetPrefixes)";
  return pathsOfOtherKeys(prefixes, target, key).map((path) => ({ path, message }));
}

function faultsOf(allowed: AllowedTargets, target: Target): Fault[] {
  if ("queue" in target)
    return unlisted("target.queue", "queues", allowed.queues, queueArn(allowed, target.queue));
  if ("event" in target)
    return [
      ...unlisted("target.event.bus", "event buses", allowed.buses, busArn(allowed, target.event.bus)),
      ...eventFaults(allowed.sources, target.event),
    ];
  if ("lambda" in target)
    return unlisted("target.lambda", "functions", allowed.functions, functionArn(allowed, target.lambda));
  if (!("webhook" in target)) return [];
  const read = readWebhookUrl(target.webhook.url, allowed.webhooks);
  return read.ok ? [] : [{ path: "target.webhook.url", message: read.error }];
}

function unlisted(path: string, kind: string, list: Arns, wanted: string): Fault[] {
  if (list === null || list.some((arn) => covers(withoutPartition(arn), wanted))) return [];
  const allowed = list.length === 0 ? "none is allowed" : `allowed are ${list.join(", ")}`;
  return [{ path, message: `is not among the ${kind} that schedules may send to here: ${allowed}` }];
}

/** Whether an allowed ARN covers another. An allowed function includes its versions and aliases. */
function covers(allowed: string, wanted: string): boolean {
  if (allowed.endsWith("*")) return wanted.startsWith(allowed.slice(0, -1));
  return wanted === allowed || (allowed.startsWith("lambda:") && wanted.startsWith(`${allowed}:`));
}

/** The part after `arn:aws:`. A region belongs to one partition, so the partition adds nothing. */
function withoutPartition(arn: string): string {
  return arn.split(":").slice(2).join(":");
}

function queueArn({ region, account }: AllowedTargets, queue: string): string {
  if (queue.startsWith("arn:")) return withoutPartition(queue);
  const [, host = "", owner, name] = /^https?:\/\/([^/]+)\/(\d+)\/(.+)$/.exec(queue) ?? [];
  if (owner === undefined) return `sqs:${region}:${account}:${queue}`;
  const [, ofHost = region] = /^sqs\.([a-z0-9-]+)\.amazonaws\./.exec(host) ?? [];
  return `sqs:${ofHost}:${owner}:${name}`;
}

function busArn({ region, account }: AllowedTargets, bus: string): string {
  return bus.startsWith("arn:") ? withoutPartition(bus) : `events:${region}:${account}:event-bus/${bus}`;
}

function functionArn({ region, account }: AllowedTargets, name: string): string {
  return name.startsWith("arn:") ? withoutPartition(name) : `lambda:${region}:${account}:function:${name}`;
}
