import * as z from "zod";

/** One attempt at sending a webhook, the event of the function that sends it. */
export interface WebhookRequest {
  /** The job's id: the same for every attempt, and the receiver's idempotency key. */
  id: string;
  url: string;
  method: "POST" | "PUT";
  headers: Record<string, string>;
  /** The exact text to send. */
  body: string;
  /** None, one, or two while they are rotated, as Standard Webhooks writes them (`whsec_…`). */
  secrets: string[];
  timeoutMs: number;
  /**
   * The private keys of the sealed values in the URL, the headers and the secrets, by their ids, in
   * base64. They are sealed themselves.
   */
  keys?: Record<string, string> | undefined;
}

export type WebhookAnswer =
  /**
   * The receiver's own answer, with any status. The excerpt has at most 1 KB of it, without control
   * characters.
   */
  | { kind: "answered"; status: number; retryAfterMs: number | null; excerpt: string }
  /** This URL is forbidden: a retry soon cannot help, though DNS may change. Nothing was sent. */
  | { kind: "refused"; error: string }
  /** No answer came. It is unknown whether the receiver got the request. */
  | { kind: "failed"; error: string };

export const webhookRequest: z.ZodType<WebhookRequest> = z.strictObject({
  // The id is a header, and part of the signed text, where dots separate the parts.
  id: z.string().regex(/^[\x21-\x2d\x2f-\x7e]{1,255}$/),
  url: z.string(),
  method: z.enum(["POST", "PUT"]),
  headers: z.record(z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/), z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/)),
  body: z.string(),
  secrets: z
    .array(
      z
        .string()
        .regex(/^sealed:[\w:-]+$|^(whsec_)?([A-Za-z0-9+/]{4})+([A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/),
    )
    .max(2),
  timeoutMs: z.int().min(1).max(600_000),
  keys: z.record(z.string().regex(/^\d{1,9}$/), z.base64()).optional(),
});
