import { isDeepStrictEqual } from "node:util";
import { type Fault, Refusal } from "../../refusal.ts";
import { memberPath } from "./shape-faults.ts";
import type { Target } from "./target-shape.ts";
import { isKept, kept, type WebhookTarget } from "./target-webhook-shape.ts";

type Webhook = WebhookTarget["webhook"];
const secretPath = "target.webhook.secret";
const headersPath = "target.webhook.headers";

/**
 * Whether a header seems to have a credential. In doubt it counts as one: hiding a harmless value
 * does no harm.
 */
export function carriesCredential(header: string): boolean {
  return /auth|token|secret|key|passw|cookie|credential|session|signature/i.test(header);
}

/** Replaces a stored target that cannot be read; no handler has this name. */
export const unknownTarget: Target = { handler: "" };

/** Null for a target that cannot be read. */
export function shownIfKnown(target: Target): Target | ShownWebhook | null {
  return "handler" in target && target.handler === "" ? null : shownTarget(target);
}

/** A target as callers read it, with its credentials hidden. */
export function shownTarget(target: Target): Target | ShownWebhook {
  if (!("webhook" in target)) return target;
  const { secret, headers, ...rest } = target.webhook;
  return {
    webhook: { ...rest, headers: shownHeaders(headers), ...(secret === undefined ? {} : { secret: kept }) },
  };
}

export interface ShownWebhook {
  webhook: Omit<Webhook, "secret"> & { secret?: string };
}

function shownHeaders(headers: Webhook["headers"]): Webhook["headers"] {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, carriesCredential(name) ? kept : value]),
  );
}

/** The paths of hidden values in which two targets differ. */
export function hiddenDifferences(before: Target, after: Target): string[] {
  if (!("webhook" in before) || !("webhook" in after)) return [];
  const was = before.webhook;
  const is = after.webhook;
  const secretDiffers =
    was.secret !== undefined && is.secret !== undefined && !isDeepStrictEqual(was.secret, is.secret);
  const hidden = Object.keys(was.headers).filter(
    (name) => carriesCredential(name) && name in is.headers && was.headers[name] !== is.headers[name],
  );
  return [...hidden.map((name) => memberPath(headersPath, name)), ...(secretDiffers ? [secretPath] : [])];
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
  const isSameHost = before !== null && new URL(before.url).origin === new URL(webhook.url).origin;
  const faults: Fault[] = [];
  const stands = <Value>(path: string, value: Value | undefined): Value[] => {
    if (value !== undefined && isSameHost) return [value];
    faults.push({ path, message: value === undefined ? noneKept : keptForAnother });
    return [];
  };
  const headers = Object.entries(webhook.headers).flatMap(([name, value]) => {
    if (!carriesCredential(name) || !isKept(value)) return [[name, value] as const];
    return stands(memberPath(headersPath, name), headerOf(before, name)).map((own) => [name, own] as const);
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
  return {
    webhook: { ...webhook, headers: Object.fromEntries(headers), ...(secret.length === 0 ? {} : { secret }) },
  };
}

/** The new secret and the one that it replaces. */
const secretsMax = 2;

const noneKept = `is \`${kept}\`, which stands for a stored value, but none is stored: send the value itself`;
const keptForAnother = "is stored for another host: send the value itself, or leave it out";

function headerOf(webhook: Webhook | null, name: string): string | undefined {
  const wanted = name.toLowerCase();
  return Object.entries(webhook?.headers ?? {}).find(([own]) => own.toLowerCase() === wanted)?.[1];
}
