import { once } from "node:events";
import { createServer } from "node:net";
import type { Clock } from "../../clock.ts";
import { isTaken } from "./http-server.ts";

/** A port of the loopback interface that is free at this moment. */
export async function freeLoopbackPort(): Promise<number> {
  const port = await tryPort(0);
  if (port === undefined) throw new Error("The loopback interface has no free port.");
  return port;
}

const pollMs = 100;

/**
 * The given ports that are still taken after `patienceMs`; a stack that was just killed may take a
 * moment to release them.
 */
export async function takenPorts(
  ports: readonly number[],
  patienceMs: number,
  clock: Clock,
): Promise<number[]> {
  for (let waited = 0; ; waited += pollMs) {
    const found = await Promise.all(ports.map(tryPort));
    const taken = ports.filter((_, index) => found[index] === undefined);
    if (taken.length === 0 || waited >= patienceMs) return taken;
    await clock.sleep(pollMs);
  }
}

/** The port, which was free, or undefined when it is taken. */
async function tryPort(port: number): Promise<number | undefined> {
  const probe = createServer();
  try {
    probe.listen(port, "127.0.0.1");
    await once(probe, "listening");
  } catch (error) {
    if (isTaken(error)) return undefined;
    throw error;
  }
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return address === null || typeof address === "string" ? undefined : address.port;
}
