import { once } from "node:events";
import { createServer } from "node:net";

/** A port of the loopback interface that nobody listens on at this moment. */
export async function freeLoopbackPort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  if (address === null || typeof address === "string")
    throw new Error("The probe for a free port has no address.");
  return address.port;
}
