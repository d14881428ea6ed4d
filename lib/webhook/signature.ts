import { createHmac } from "node:crypto";

/** `whsec_` marks a secret as one and is not part of its key. */
const secretPrefix = "whsec_";

/** What stands in `webhook-signature`, as Standard Webhooks say: one signature a secret, so that a receiver may know either. */
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
