import { createHmac } from "node:crypto";

/** `whsec_` marks a secret and is not part of its key. */
const secretPrefix = "whsec_";

/**
 * The value of `webhook-signature` after Standard Webhooks: one signature for each secret, so that
 * a receiver with any of the secrets can check it.
 */
export function signatures(
  secrets: readonly string[],
  { id, timestamp, body }: { id: string; timestamp: number; body: Uint8Array },
): string {
  return secrets
    .map((secret) => {
      const key = Buffer.from(secret.replace(secretPrefix, ""), "base64");
      const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
      return `v1,${digest}`;
    })
    .join(" ");
}
