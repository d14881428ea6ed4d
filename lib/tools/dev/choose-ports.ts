import { existsSync, readFileSync } from "node:fs";
import type { Clock } from "../../clock.ts";
import { freeLoopbackPort, takenPorts } from "../local/free-port.ts";
import { PortTaken } from "../local/http-server.ts";

export interface Ports {
  api: number;
  sqs: number;
  events: number;
}

export interface Wanted {
  /** Ports that an option or a variable sets; 0 is any free one. */
  fixed: Readonly<Partial<Ports>>;
  /** The option or variable that set the port of the API. */
  setBy: string;
  /** The file with the ports of the last start. */
  kept: string;
}

export interface Chosen {
  ports: Ports;
  /** Why they are not the usual ones; null if they are, or if they were set. */
  why: string | null;
  /** Whether the next start should take the same ones. */
  isKept: boolean;
}

const usual: Ports = { api: 8787, sqs: 8788, events: 8789 };
const names = ["api", "sqs", "events"] as const;
/** A stack that was just stopped may take a moment to release its ports. */
const patienceMs = 1_500;
/** Threes of ports behind the first ones that are tried before any free ones are taken. */
const triedMax = 30;

/**
 * The ports that are set; for the others those of the last start in this folder, or the usual ones.
 * If one of these is taken, all that are not set move on together, so that they stay side by side.
 */
export async function choosePorts({ fixed, setBy, kept }: Wanted, clock: Clock): Promise<Chosen> {
  const [refused] = await takenPorts(Object.values(fixed), patienceMs, clock);
  if (refused !== undefined) throw new PortTaken(refused, refused === fixed.api ? setBy : undefined);
  const last = lastPorts(kept);
  const isKept = fixed.api === undefined;
  const first = { ...(isKept ? (last ?? usual) : behind(fixed.api)), ...fixed };
  const open = names.filter((name) => fixed[name] === undefined).map((name) => first[name]);
  const [taken] = await takenPorts(open, patienceMs, clock);
  if (taken === undefined) {
    const isOther = isKept && first.api !== usual.api;
    return { ports: first, why: isOther ? "as at the last start in this folder" : null, isKept };
  }
  const why = `${taken} is in use by another program`;
  return {
    ports: { ...(await freePorts(fixed, clock)), ...fixed },
    why: isKept ? `${why}; the next start in this folder takes these again` : why,
    isKept,
  };
}

function behind(api: number): Ports {
  return api === 0 ? { api, sqs: 0, events: 0 } : { api, sqs: api + 1, events: api + 2 };
}

async function freePorts(fixed: Wanted["fixed"], clock: Clock): Promise<Ports> {
  const start = fixed.api ?? usual.api;
  for (let tried = 1; tried <= triedMax; tried++) {
    const ports = behind(start + tried * names.length);
    const open = names.filter((name) => fixed[name] === undefined).map((name) => ports[name]);
    if (open.every(isPort) && (await takenPorts(open, 0, clock)).length === 0) return ports;
  }
  return { api: await freeLoopbackPort(), sqs: await freeLoopbackPort(), events: await freeLoopbackPort() };
}

/** Null where nothing was kept, or something else. */
function lastPorts(file: string): Ports | null {
  if (!existsSync(file)) return null;
  const [api, sqs, events] = readFileSync(file, "utf8").trim().split(" ").map(Number);
  return isPort(api) && isPort(sqs) && isPort(events) ? { api, sqs, events } : null;
}

const isPort = (port: number | undefined): port is number =>
  port !== undefined && Number.isInteger(port) && port > 0 && port <= 65_535;

export const textOfPorts = ({ api, sqs, events }: Ports): string => `${api} ${sqs} ${events}`;
