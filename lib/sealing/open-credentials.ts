import type { webcrypto } from "node:crypto";
import { BoundedMap } from "../bounded-map.ts";
import { errorText } from "../log/error-text.ts";
import { isSealed, readSealed } from "../schedule/shape/sealed-text.ts";
import { placeOf, valuesOf, withValues } from "../schedule/shape/webhook-credentials.ts";
import type { WebhookRequest } from "../webhook/webhook-request.ts";
import { openWith } from "./hpke.ts";
import type { KeyVault } from "./key-vault.ts";
import { contextOf } from "./seal-credentials.ts";

/** A credential that could not be opened. Nothing was sent. */
export class NotOpened extends Error {
  override readonly name = "NotOpened";
  /** The vault did not answer, so another try may open it. */
  readonly isPassing: boolean;

  constructor(message: string, isPassing = false) {
    super(message);
    this.isPassing = isPassing;
  }
}

/** Opens private keys with the vault, and keeps them while the process lives. */
export class OpenedKeys {
  readonly #vault: KeyVault;
  readonly #opened = new BoundedMap<string, Promise<webcrypto.CryptoKey>>(20);

  constructor(vault: KeyVault) {
    this.#vault = vault;
  }

  async privateKey(sealedPrivateKey: string): Promise<webcrypto.CryptoKey> {
    const known = this.#opened.get(sealedPrivateKey);
    if (known !== undefined) return known;
    const opening = this.#vault.open(Buffer.from(sealedPrivateKey, "base64"));
    this.#opened.set(sealedPrivateKey, opening);
    try {
      return await opening;
    } catch (error) {
      // KMS may answer the next request.
      this.#opened.delete(sealedPrivateKey);
      throw error;
    }
  }
}

/**
 * The request with its credentials in clear. A credential that was sealed for another origin or
 * another place does not open.
 */
export async function openCredentials(opened: OpenedKeys, request: WebhookRequest): Promise<WebhookRequest> {
  const { url, headers, secrets, keys = {} } = request;
  const webhook = { url, method: request.method, headers, secret: secrets };
  const sealed = valuesOf(webhook).filter(({ value }) => isSealed(value));
  if (sealed.length === 0) return request;
  const clear = new Map<string, string>();
  for (const each of sealed)
    clear.set(placeOf(each), await openStored(opened, keys, each.value, contextOf(each, url)));
  const { secret = [], ...open } = withValues(webhook, (each) => clear.get(placeOf(each)) ?? each.value);
  return { ...request, url: open.url, headers: open.headers, secrets: secret };
}

/** The value of a stored credential that is sealed for this context. */
export async function openStored(
  opened: OpenedKeys,
  keys: Readonly<Record<string, string>>,
  stored: string,
  context: string,
): Promise<string> {
  const read = readSealed(stored);
  if (read === null) throw new NotOpened("A stored credential has no form that this release knows.");
  const sealedPrivateKey = keys[String(read.keyId)];
  if (sealedPrivateKey === undefined)
    throw new NotOpened(`A credential is sealed with key ${read.keyId}, which is not stored any more.`);
  const privateKey = await opened.privateKey(sealedPrivateKey).catch((error: unknown) => {
    throw new NotOpened(
      `Key ${read.keyId} of the credentials could not be opened: ${errorText(error)}.`,
      true,
    );
  });
  return openWith(privateKey, read.sealed, context).catch(() => {
    throw new NotOpened(
      `A credential does not open with key ${read.keyId}: it was sealed for another host, or changed.`,
    );
  });
}
