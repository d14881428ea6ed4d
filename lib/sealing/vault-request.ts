import * as z from "zod";
import { type WebhookRequest, webhookRequest } from "../webhook/webhook-request.ts";
import { publicHalf } from "./hpke.ts";
import type { KeyVault, VaultPair } from "./key-vault.ts";
import { NotOpened, type OpenedKeys, openStored } from "./open-credentials.ts";
import { contextOf, sealedValue } from "./seal-credentials.ts";

const keyId = z.int().min(1);

/** A stored credential that is to be sealed with another key. */
const storedCredential = z.strictObject({
  kind: z.enum(["secret", "header", "query"]),
  name: z.string(),
  url: z.string(),
  stored: z.string(),
});

const sealAgain = z.strictObject({
  keys: z.record(z.string().regex(/^\d{1,9}$/), z.base64()),
  /** The key to seal with. Its public half is taken from the private one, which only the vault can have made. */
  to: z.strictObject({ id: keyId, sealedPrivateKey: z.base64(), printKey: z.base64() }),
  credentials: z.array(storedCredential).max(2_000),
});

/**
 * Further requests to the function that sends webhooks, because it alone can use the vault. No answer
 * has a credential or a private key in clear.
 */
export const vaultRequest = z.discriminatedUnion("ask", [
  z.strictObject({ ask: z.literal("pair") }),
  z.strictObject({ ask: z.literal("opens"), sealedPrivateKey: z.base64() }),
  z.strictObject({ ask: z.literal("seal again"), ...sealAgain.shape }),
]);

export type SealAgain = z.input<typeof sealAgain>;

/** The vault for other functions: nothing in it opens a credential. */
export interface VaultAccess {
  makePair(): Promise<VaultPair>;
  /** Whether this vault made the pair of this private key. Rejects if the vault does not answer. */
  opens(sealedPrivateKey: Uint8Array): Promise<boolean>;
  /** Null for a credential that does not open. */
  sealAgain(request: SealAgain): Promise<(string | null)[]>;
}

/** The events of the function that sends webhooks. */
export const webhookEvent: z.ZodType<WebhookEvent> = z.union([vaultRequest, webhookRequest]);
export type WebhookEvent = z.input<typeof vaultRequest> | WebhookRequest;

export type VaultRequest = z.output<typeof vaultRequest>;
export type VaultAnswer =
  | { publicKey: string; sealedPrivateKey: string }
  | { opens: boolean }
  /** Null for a credential that does not open. */
  | { sealed: (string | null)[] };

export async function answerVaultRequest(
  vault: KeyVault,
  opened: OpenedKeys,
  request: VaultRequest,
): Promise<VaultAnswer> {
  if (request.ask === "pair") {
    const { publicKey, sealedPrivateKey } = await vault.makePair();
    return { publicKey: base64(publicKey), sealedPrivateKey: base64(sealedPrivateKey) };
  }
  if (request.ask === "opens")
    return { opens: await vault.opens(Buffer.from(request.sealedPrivateKey, "base64")) };
  const keys = await ownKeys(vault, opened, request.keys);
  return { sealed: await sealedAgain(opened, { ...request, keys }) };
}

/** The keys that this vault opens: the others belong to a deployment that the database was restored from. */
async function ownKeys(
  vault: KeyVault,
  opened: OpenedKeys,
  keys: Readonly<Record<string, string>>,
): Promise<Record<string, string>> {
  const own: [string, string][] = [];
  for (const [id, key] of Object.entries(keys)) {
    // A key that opens is remembered: a pass of many requests asks the vault once for each key.
    const isOpened = await opened.privateKey(key).then(
      () => true,
      () => false,
    );
    if (isOpened || (await vault.opens(Buffer.from(key, "base64")))) own.push([id, key]);
  }
  return Object.fromEntries(own);
}

async function sealedAgain(
  opened: OpenedKeys,
  { keys, to, credentials }: SealAgain,
): Promise<(string | null)[]> {
  const publicKey = Buffer.from(await publicHalf(await opened.privateKey(to.sealedPrivateKey)));
  const key = { id: to.id, publicKey, printKey: Buffer.from(to.printKey, "base64") };
  const sealed: (string | null)[] = [];
  for (const { kind, name, url, stored } of credentials) {
    const context = contextOf({ kind, name }, url);
    try {
      const value = await openStored(opened, keys, stored, context);
      sealed.push(await sealedValue({ kind, name, nth: 0, value }, url, key));
    } catch (error) {
      if (!(error instanceof NotOpened) || error.isPassing) throw error;
      sealed.push(null);
    }
  }
  return sealed;
}

const base64 = (data: Uint8Array) => Buffer.from(data).toString("base64");
