import { createHash, createHmac } from "node:crypto";
import { BoundedMap } from "../bounded-map.ts";
import { Refusal } from "../refusal.ts";
import { isSealed, readSealed, sealedText } from "../schedule/shape/sealed-text.ts";
import type { Target } from "../schedule/shape/target-shape.ts";
import { isKept } from "../schedule/shape/target-webhook-shape.ts";
import {
  type Credential,
  credentialsOf,
  isHidden,
  placeOf,
  valuesOf,
  type Webhook,
  withValues,
} from "../schedule/shape/webhook-credentials.ts";
import { sealFor } from "./hpke.ts";
import type { SealingKey } from "./sealing-keys.ts";

/**
 * The text that a sealed credential is bound to: it opens for a request to this origin only, and only
 * in the place that it was given for.
 */
export function contextOf({ kind, name }: Pick<Credential, "kind" | "name">, url: string): string {
  return `${kind}\n${kind === "header" ? name.toLowerCase() : name}\n${new URL(url).origin}`;
}

/** Room for the credentials of a batch. */
const rememberedMax = 25_000;

/**
 * Credentials that this process has sealed. Many schedules of one receiver have the same secret,
 * and each sealing takes a third of a millisecond.
 */
const sealedBefore = new BoundedMap<string, string>(rememberedMax);

/** The texts of values without a hash, which were sealed ahead for one edit of one schedule. */
const sealedAhead = new BoundedMap<string, string>(rememberedMax);

/**
 * The target with all of its credentials sealed. A value that is stored already keeps its sealed
 * text, so that an identical put changes nothing.
 */
export async function sealCredentials(
  scheduleKey: string,
  target: Target,
  standing: Target | null,
  { sealingKeys }: { sealingKeys: () => Promise<readonly SealingKey[]> },
): Promise<Target> {
  if (!("webhook" in target)) return target;
  const { webhook } = target;
  const plain = credentialsOf(webhook).filter(({ value }) => !isSealed(value));
  if (plain.length === 0) return target;
  const stored = storedValues(webhook, standing);
  const keys = await sealingKeys();
  const [newest] = keys;
  if (newest === undefined) throw new Refusal("impossible", noKey);
  const texts = new Map<string, string>();
  for (const each of plain) {
    const kept = stored.find((text) => text.kind === each.kind && isStored(each, text, webhook.url, keys));
    const own = { scheduleKey, url: webhook.url };
    texts.set(
      placeOf(each),
      kept?.value ?? takeAhead(each, own, newest) ?? (await sealedValue(each, own.url, newest)),
    );
  }
  return {
    webhook: withValues(webhook, (each) =>
      isHidden(webhook, each) ? (texts.get(placeOf(each)) ?? each.value) : each.value,
    ),
  };
}

/** Seals the credentials in clear of these targets, for the edits that will store them. */
export async function sealAhead(
  wanted: readonly { key: string; target: Target }[],
  newest: SealingKey,
): Promise<void> {
  for (const { key: scheduleKey, target } of wanted) {
    if (!("webhook" in target)) continue;
    const { url } = target.webhook;
    for (const each of credentialsOf(target.webhook)) {
      if (isSealed(each.value) || isKept(each.value)) continue;
      const text = await sealedValue(each, url, newest);
      const name = nameAhead(each, { scheduleKey, url }, newest);
      if (name !== null) sealedAhead.set(name, text);
    }
  }
}

interface Owner {
  scheduleKey: string;
  url: string;
}

/** Each text is used once: two equal texts would tell that their values are equal. */
function takeAhead(credential: Credential, owner: Owner, key: SealingKey): string | undefined {
  const name = nameAhead(credential, owner, key);
  if (name === null) return undefined;
  const text = sealedAhead.get(name);
  sealedAhead.delete(name);
  return text;
}

/** Null for a value with a hash, whose text is remembered for all schedules. */
function nameAhead(credential: Credential, { scheduleKey, url }: Owner, key: SealingKey): string | null {
  if (printOf(credential, url, key) !== null) return null;
  const parts = [scheduleKey, placeOf(credential), contextOf(credential, url), credential.value];
  return createHash("sha256").update(key.publicKey).update(JSON.stringify(parts)).digest("base64");
}

const noKey = "No key to seal credentials with is stored yet: `carillon credentials rotate` makes one.";

/** The stored credentials of the same origin: others are bound to another one. */
function storedValues(webhook: Webhook, standing: Target | null): Credential[] {
  if (standing === null || !("webhook" in standing)) return [];
  if (new URL(standing.webhook.url).origin !== new URL(webhook.url).origin) return [];
  return valuesOf(standing.webhook).filter((each) => isHidden(standing.webhook, each));
}

function isStored(wanted: Credential, stored: Credential, url: string, keys: readonly SealingKey[]): boolean {
  if (contextOf(wanted, url) !== contextOf(stored, url)) return false;
  const sealed = readSealed(stored.value);
  // Stored before credentials were sealed, and not sealed since.
  if (sealed === null) return stored.value === wanted.value;
  const key = keys.find(({ id }) => id === sealed.keyId);
  return key !== undefined && sealed.print !== null && sealed.print === printOf(wanted, url, key);
}

/** The sealed text of a credential for this URL. */
export async function sealedValue(credential: Credential, url: string, key: SealingKey): Promise<string> {
  const context = contextOf(credential, url);
  const print = printOf(credential, url, key);
  const anew = async () =>
    sealedText({ keyId: key.id, print, sealed: await sealFor(key.publicKey, credential.value, context) });
  // Without a hash, equal values are not to be told apart from others by their text either.
  if (print === null) return anew();
  const memory = createHash("sha256").update(key.publicKey).update(print).digest("base64");
  const before = sealedBefore.get(memory);
  if (before !== undefined) return before;
  const text = await anew();
  sealedBefore.set(memory, text);
  return text;
}

const printLength = 16;
const guessableBelow = 24;

/**
 * A keyed hash by which an equal value is recognized without opening the stored one. The key is in
 * the database, so a copy of the database would let passwords be tried: a short value and a password
 * (`Basic`) get no hash. Sent again, it counts as a change.
 */
function printOf(credential: Credential, url: string, { printKey }: SealingKey): string | null {
  if (credential.kind !== "secret" && isGuessable(credential.value)) return null;
  return createHmac("sha256", printKey)
    .update(`${contextOf(credential, url)}\n${credential.value}`)
    .digest("base64url")
    .slice(0, printLength);
}

function isGuessable(value: string): boolean {
  return /^basic /i.test(value) || value.replace(/^\w+ /, "").length < guessableBelow;
}
