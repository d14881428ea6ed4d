import type { Environment } from "../config/environment.ts";
import { type Network, parseNetwork } from "./address.ts";

/**
 * Private addresses that webhooks of this deployment may go to, and public addresses that they may
 * not go to.
 */
export interface Reach {
  /** `host:port` as a parsed URL writes its host. These may be private and may use plain HTTP. */
  allowed: ReadonlySet<string>;
  denied: readonly Network[];
  /** The option that allows a private `host:port` in a local stack: `carillon dev --webhooks`. */
  advice?: string | undefined;
}

const allowVariable = "CARILLON_WEBHOOK_ALLOW";
const denyVariable = "CARILLON_WEBHOOK_DENY";
const adviceVariable = "CARILLON_WEBHOOK_ADVICE";

export function reachFrom(env: Environment): Reach {
  const allowed = entries(env, allowVariable);
  if (allowed.length > 0 && env["AWS_LAMBDA_FUNCTION_NAME"] !== undefined)
    throw new Error(
      `The environment variable ${allowVariable} is set. It lets webhooks into private networks, is meant for a local stack, and may not be set in AWS: remove it.`,
    );
  return {
    allowed: new Set(allowed.map(readAllowed)),
    denied: entries(env, denyVariable).map(readDenied),
    advice: env[adviceVariable],
  };
}

/** The refusal of an address, with what would allow it on this machine. */
export function withAdvice(error: string, place: string, { advice }: Pick<Reach, "advice">): string {
  return advice === undefined ? error : `${error} ${advice} ${place} allows it on this machine.`;
}

function entries(env: Environment, variable: string): string[] {
  const value = env[variable]?.trim() ?? "";
  return value === "" ? [] : value.split(",").map((entry) => entry.trim());
}

function readAllowed(entry: string): string {
  const [, host, port] = /^([\w.-]+|\[[\da-f:.]+\]):(\d{1,5})$/i.exec(entry) ?? [];
  const url = host === undefined ? null : URL.parse(`http://${host}/`);
  if (url === null || Number(port) < 1 || Number(port) > 65_535)
    throw new Error(
      `The environment variable ${allowVariable} holds "${entry}"; it takes host:port, several separated by commas.`,
    );
  return `${url.hostname}:${Number(port)}`;
}

function readDenied(entry: string): Network {
  const network = parseNetwork(entry);
  if (network === null)
    throw new Error(
      `The environment variable ${denyVariable} holds "${entry}"; it takes networks like 10.0.0.0/8 or fd00::/8, several separated by commas.`,
    );
  return network;
}
