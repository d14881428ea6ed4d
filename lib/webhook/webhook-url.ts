import { parseAddress } from "./address.ts";
import { forbids } from "./public-address.ts";
import { type Reach, withAdvice } from "./reach.ts";

const lengthMax = 2_048;

/** A URL that webhooks may be sent to, as far as it can be checked without DNS. */
export interface WebhookUrl {
  url: URL;
  /** The name or address without the brackets of IPv6. */
  host: string;
  port: number;
  isAddress: boolean;
  /** On the deployment's list: its address is not checked. */
  allowed: boolean;
}

export type ReadUrl = { ok: true; target: WebhookUrl } | { ok: false; error: string };

/** The only place where the text is parsed, so the connection goes to the URL that was checked. */
export function readWebhookUrl(text: string, reach: Reach): ReadUrl {
  if (text.length > lengthMax) return refused(`A webhook's URL has at most ${lengthMax} characters.`);
  const url = URL.parse(text);
  if (url === null) return refused("The webhook's URL is not a valid URL.");
  if (url.protocol !== "https:" && url.protocol !== "http:")
    return refused("A webhook's URL must start with https://.");
  if (url.username !== "" || url.password !== "")
    return refused("A webhook's URL may not hold a user name or password: send them in a header.");

  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isAddress = parseAddress(host) !== null;
  const allowed = reach.allowed.has(`${url.hostname}:${port}`);
  const error = allowed ? null : whyNot(url, { host, port, isAddress }, reach);
  return error === null
    ? { ok: true, target: { url, host, port, isAddress, allowed } }
    : refused(withAdvice(error, `${url.hostname}:${port}`, reach));
}

function whyNot(
  url: URL,
  { host, port, isAddress }: Pick<WebhookUrl, "host" | "port" | "isAddress">,
  reach: Reach,
): string | null {
  if (url.protocol !== "https:") return "A webhook's URL must start with https://.";
  if (port !== 443) return "A webhook's URL may not name a port: only 443 is allowed.";
  if (!isAddress) return notPublicName(host);
  const reason = forbids(host, reach.denied);
  return reason === null ? null : `${host} is ${reason}: webhooks go only to public addresses.`;
}

/**
 * Why a name is refused: on each machine it leads to another host. Other names are resolved, and
 * their addresses checked, at each attempt.
 */
function notPublicName(host: string): string | null {
  if (host.endsWith(".")) return `Write the host without the dot at its end: ${host.replace(/\.+$/, "")}.`;
  const local = !host.includes(".") || /\.(localhost|local|internal)$/.test(host);
  return local ? `${host} is not a public name: webhooks go only to public addresses.` : null;
}

function refused(error: string): ReadUrl {
  return { ok: false, error };
}
