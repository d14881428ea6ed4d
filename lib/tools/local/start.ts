import { type Clock, systemClock } from "../../clock.ts";
import { surviveStrayExceptions, surviveStrayRejections } from "../../config/strays.ts";
import { type Log, textLog } from "../../log/log.ts";
import { takenPorts } from "./free-port.ts";
import { setHandlers } from "./handlers/current-handlers.ts";
import { type OwnHandlers, ownHandlers } from "./handlers/own-handlers.ts";
import { namesOf, watchHandlers } from "./handlers/watch-handlers.ts";
import { PortTaken } from "./http-server.ts";
import { type LocalSettings, portVariables, readSettings } from "./settings.ts";
import type { Stack } from "./stack.ts";

const exitCodes = { stopped: 0, failed: 1, portTaken: 2 } as const;
const portPatienceMs = 1_500;
const stopPatienceMs = 4_700;
const parentPollMs = 200;

/** `npm start` and `carillon-dev`: runs the stack until it is stopped. */
process.exit(await main(systemClock));

async function main(clock: Clock): Promise<number> {
  const log = textLog("local", clock.now);
  surviveStrayRejections(log);
  surviveStrayExceptions(log);
  const stopSignal = untilStopped();
  try {
    const settings = readSettings(process.env);
    await refuseTakenPorts(settings, clock);
    const own = await loadOwn(settings, log);
    // Only now: the functions import the handlers.
    const { startStack } = await import("./stack.ts");
    const stack = await startStack({ settings, clock, log });
    if (own !== null) watchHandlers(own, { renew: stack.renew, log });
    const { api, sqs, events } = stack.urls;
    process.stdout.write(`carillon ready api=${api} sqs=${sqs} events=${events}\n`);
    process.stdout.write(`The page: ${stack.signIn}\n`);
    return await runUntil(stopSignal, stack, { clock, log });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return error instanceof PortTaken ? exitCodes.portTaken : exitCodes.failed;
  }
}

/** Loads the app's handlers, if the settings name a file of them. */
async function loadOwn({ handlersFile }: LocalSettings, log: Log): Promise<OwnHandlers | null> {
  if (handlersFile === undefined) return null;
  const own = ownHandlers(handlersFile);
  const handlers = await own.load();
  setHandlers(handlers);
  log.info("local.handlers", { file: handlersFile, handlers: namesOf(handlers) });
  return own;
}

async function runUntil(
  stopSignal: Promise<void>,
  stack: Stack,
  { clock, log }: { clock: Clock; log: Log },
): Promise<number> {
  const reason = await Promise.race([stack.broken, stopSignal]);
  if (reason !== undefined) log.error("local.broken", { reason });
  log.info("local.stopping");
  const overTime = clock.sleep(stopPatienceMs).then(() => "over time");
  if ((await Promise.race([stack.stop(), overTime])) === "over time") {
    log.warn("local.stop-cut");
    return exitCodes.failed;
  }
  return reason === undefined ? exitCodes.stopped : exitCodes.failed;
}

/** Checked before anything starts, so that the error does not wait for Postgres. */
async function refuseTakenPorts({ ports }: LocalSettings, clock: Clock): Promise<void> {
  const taken = await takenPorts(Object.values(ports), portPatienceMs, clock);
  const [first] = taken;
  if (first !== undefined) throw new PortTaken(first, variableOf(ports, first));
}

function variableOf(ports: LocalSettings["ports"], port: number): string {
  for (const name of ["api", "sqs", "events"] as const) if (ports[name] === port) return portVariables[name];
  return portVariables.api;
}

/**
 * Waits for a signal, or for the end of the parent npm: when npm is killed it cannot pass on a
 * signal, and the stack would keep running.
 */
function untilStopped(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
    if (process.env["npm_lifecycle_event"] === undefined) return;
    const parent = process.ppid;
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      resolve();
    }, parentPollMs);
    watch.unref();
  });
}
