import { type Fault, Refusal } from "../../refusal.ts";
import { isSameStored } from "./sealed-text.ts";
import { memberPath } from "./shape-faults.ts";
import type { Target } from "./target-shape.ts";
import { isKept, kept } from "./target-webhook-shape.ts";
import {
  type Credential,
  credentialsOf,
  isHidden,
  placeOf,
  valuesOf,
  type Webhook,
  withValues,
} from "./webhook-credentials.ts";

const secretPath = "target.webhook.secret";

/** Replaces a stored target that cannot be read; no handler has this name. */
export const unknownTarget: Target = { handler: "" };

/** Null for a target that cannot be read. */
export function shownIfKnown(target: Target): Target | ShownWebhook | null {
  return "handler" in target && target.handler === "" ? null : shownTarget(target);
}

/** A target as callers read it, with its credentials hidden. */
export function shownTarget(target: Target): Target | ShownWebhook {
  if (!("webhook" in target)) return target;
  const { webhook } = target;
  const { secret, ...shown } = withValues(webhook, (each) => (isHidden(webhook, each) ? kept : each.value));
  return { webhook: { ...shown, ...(secret === undefined ? {} : { secret: kept }) } };
}

export interface ShownWebhook {
  webhook: Omit<Webhook, "secret"> & { secret?: string };
}

/** The paths of hidden values in which two targets differ. */
export function hiddenDifferences(before: Target, after: Target): string[] {
  if (!("webhook" in before) || !("webhook" in after)) return [];
  const was = byPlace(credentialsOf(before.webhook));
  const hidden = credentialsOf(after.webhook);
  const differing = hidden
    .filter(({ kind }) => kind !== "secret")
    .filter((each) => {
      const other = was.get(placeOf(each));
      return other !== undefined && !isSameStored(other.value, each.value);
    })
    .map(pathOf);
  const secretsDiffer = haveOtherSecrets(before.webhook, after.webhook);
  return [...new Set([...differing, ...(secretsDiffer ? [secretPath] : [])])];
}

function haveOtherSecrets({ secret: was }: Webhook, { secret: is }: Webhook): boolean {
  if (was === undefined || is === undefined) return false;
  return was.length !== is.length || was.some((value, index) => !isSameStored(value, is[index] ?? ""));
}

const byPlace = (values: readonly Credential[]) => new Map(values.map((each) => [placeOf(each), each]));

function pathOf({ kind, name }: Credential): string {
  if (kind === "secret") return secretPath;
  return kind === "header" ? memberPath("target.webhook.headers", name) : "target.webhook.url";
}

/**
 * The target with the stored value in place of every `***`. A credential is only ever sent to the
 * host for which it was given. Otherwise a caller who may change the URL could have it sent to a
 * host of their own.
 */
export function withCredentials(wanted: Target, standing: Target | null): Target {
  if (!("webhook" in wanted)) return wanted;
  const { secret: wantedSecrets = [], ...webhook } = wanted.webhook;
  const before = standing !== null && "webhook" in standing ? standing.webhook : null;
  const existing = before === null ? new Map<string, Credential>() : byPlace(valuesOf(before));
  const isSameHost = before !== null && originOf(before) === originOf(webhook);
  const faults: Fault[] = [];
  const stands = <Value>(path: string, value: Value | undefined): Value[] => {
    if (value !== undefined && isSameHost) return [value];
    faults.push({ path, message: value === undefined ? noneKept : keptForAnother });
    return [];
  };
  const rest = withValues(webhook, (each) => {
    const own = existing.get(placeOf(each));
    const hides = isHidden(webhook, each) || (before !== null && own !== undefined && isHidden(before, own));
    if (!hides || !isKept(each.value)) return each.value;
    const [value = each.value] = stands(pathOf(each), own?.value);
    return value;
  });
  // A single `***` stands for all stored secrets. Beside a new secret it stands for the newest
  // stored one, which becomes the older of the two.
  const secret = wantedSecrets.flatMap((each) =>
    isKept(each)
      ? stands(secretPath, before?.secret).flatMap((own) =>
          own.slice(0, secretsMax + 1 - wantedSecrets.length),
        )
      : [each],
  );
  if (faults.length > 0) throw new Refusal("impossible", "The target's credentials are not known.", faults);
  return { webhook: { ...rest, ...(secret.length === 0 ? {} : { secret }) } };
}

const originOf = ({ url }: Pick<Webhook, "url">) => new URL(url).origin;

/** The new secret and the one that it replaces. */
const secretsMax = 2;

const noneKept = `is \`${kept}\`, which stands for a stored value, but none is stored: send the value itself`;
const keptForAnother = "is stored for another host: send the value itself, or leave it out";
