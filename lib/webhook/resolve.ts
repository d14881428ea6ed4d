import { lookup, Resolver } from "node:dns/promises";
import type { Reach } from "./reach.ts";

/** All addresses of a name, IPv4 and IPv6. The signal ends the lookup. */
export type Resolve = (name: string, signal: AbortSignal) => Promise<readonly string[]>;

/** The time limit of each try at a name server. */
const tryMs = 3_000;
const tries = 2;

/**
 * Queries the name servers directly. The system's own lookup cannot be cancelled and occupies one
 * of two threads until its name server answers or times out: a few attempts with a short timeout at
 * a name with a silent server would delay all other names. Only hosts that the local stack allows
 * use the system's lookup, since its own files may define them.
 */
export function resolver({ allowed }: Pick<Reach, "allowed">, servers: readonly string[] = []): Resolve {
  const local = new Set([...allowed].map((entry) => entry.slice(0, entry.lastIndexOf(":"))));
  return (name, signal) => (local.has(name) ? bySystem(name) : byServers(name, signal, servers));
}

async function bySystem(name: string): Promise<string[]> {
  return (await lookup(name, { all: true })).map(({ address }) => address);
}

async function byServers(name: string, signal: AbortSignal, servers: readonly string[]): Promise<string[]> {
  const asking = new Resolver({ timeout: tryMs, tries });
  if (servers.length > 0) asking.setServers(servers);
  const end = () => asking.cancel();
  signal.addEventListener("abort", end, { once: true });
  try {
    const answers = await Promise.allSettled([asking.resolve4(name), asking.resolve6(name)]);
    const found = answers.flatMap((answer) => (answer.status === "fulfilled" ? answer.value : []));
    if (found.length > 0) return found;
    const reasons: unknown[] = answers.flatMap((answer) =>
      answer.status === "rejected" ? [answer.reason] : [],
    );
    // "No address of this kind" says less than the failure of the other query.
    throw reasons.find((reason) => !hasNoSuchAddress(reason)) ?? reasons[0];
  } finally {
    signal.removeEventListener("abort", end);
  }
}

function hasNoSuchAddress(reason: unknown): boolean {
  return reason instanceof Error && "code" in reason && reason.code === "ENODATA";
}
