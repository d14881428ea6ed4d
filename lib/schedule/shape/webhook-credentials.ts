import { isSealed } from "./sealed-text.ts";
import type { WebhookTarget } from "./target-webhook-shape.ts";
import { withParameters } from "./webhook-parameters.ts";

export type Webhook = WebhookTarget["webhook"];

/** A value of a webhook that may be a credential. */
export interface Credential {
  kind: "secret" | "header" | "query";
  /** The name of the header or of the parameter, as it is written; empty for a secret. */
  name: string;
  /** Its place among the values of the same name. */
  nth: number;
  /** In a URL with its percent signs. */
  value: string;
}

/**
 * Whether a header seems to have a credential. In doubt it counts as one: hiding a harmless value
 * does no harm.
 */
export function carriesCredential(name: string): boolean {
  return /auth|token|secret|key|passw|cookie|credential|session|signature/i.test(name);
}

/** Names that are short, and so taken as a whole: `sig` and `code` are those of Azure. */
const shortNames = /^(sig|code|pwd|pass)$/i;

/** Whether the value is written and never shown. A value that is sealed stays hidden. */
export function isHidden(
  { secretHeaders = [], secretQuery = [] }: Pick<Webhook, "secretHeaders" | "secretQuery">,
  { kind, name, value }: Credential,
): boolean {
  if (kind === "secret" || isSealed(value)) return true;
  if (kind === "header") return carriesCredential(name) || hasName(secretHeaders, name);
  return carriesCredential(name) || shortNames.test(name) || secretQuery.includes(name);
}

const hasName = (names: readonly string[], wanted: string) =>
  names.some((name) => name.toLowerCase() === wanted.toLowerCase());

/** The same for two values at the same place of two webhooks. */
export function placeOf({ kind, name, nth }: Credential): string {
  return `${kind} ${kind === "header" ? name.toLowerCase() : name} ${nth}`;
}

/** All values that may be credentials: of the secrets, the headers and the query of the URL. */
export function valuesOf(webhook: Webhook): Credential[] {
  const values: Credential[] = [];
  withValues(webhook, (each) => {
    values.push(each);
    return each.value;
  });
  return values;
}

export function credentialsOf(webhook: Webhook): Credential[] {
  return valuesOf(webhook).filter((each) => isHidden(webhook, each));
}

/** The webhook with other values of its secrets, its headers and the query of its URL. */
export function withValues(webhook: Webhook, written: (each: Credential) => string): Webhook {
  const { url, headers, secret, ...rest } = webhook;
  const seen = new Map<string, number>();
  const parameter = (name: string, value: string) => {
    const nth = seen.get(name) ?? 0;
    seen.set(name, nth + 1);
    return written({ kind: "query", name, nth, value });
  };
  return {
    ...rest,
    url: withParameters(url, ({ name, value }) => parameter(name, value)),
    headers: Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [
        name,
        written({ kind: "header", name, nth: 0, value }),
      ]),
    ),
    ...(secret === undefined
      ? {}
      : { secret: secret.map((value, nth) => written({ kind: "secret", name: "", nth, value })) }),
  };
}
