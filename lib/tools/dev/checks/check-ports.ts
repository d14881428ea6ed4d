import path from "node:path";
import type { Check } from "../../../cli/doctor/check.ts";
import type { Clock } from "../../../clock.ts";
import { PortTaken } from "../../local/http-server.ts";
import { choosePorts } from "../choose-ports.ts";
import type { DevSettings } from "../dev-settings.ts";

/** The ports that a start would take. */
export async function checkPorts(
  { local, ports: wanted }: DevSettings,
  { isRunning, clock }: { isRunning: boolean; clock: Clock },
): Promise<Check> {
  const name = "ports";
  if (isRunning) return { name, state: "none", text: "those of the Carillon that runs on this data" };
  try {
    const { ports, why } = await choosePorts({ ...wanted, kept: path.join(local.dataDir, "ports") }, clock);
    const { api, sqs, events } = ports;
    const text = `${api}, ${sqs} and ${events} are free${why === null ? "" : ` (${why})`}`;
    return { name, state: "good", text };
  } catch (error) {
    if (!(error instanceof PortTaken)) throw error;
    return { name, state: "wrong", text: error.message };
  }
}
