import { type Clock, systemClock } from "../../clock.ts";
import { surviveStrayExceptions, surviveStrayRejections } from "../../config/strays.ts";
import { type Log, textLog } from "../../log/log.ts";
import { takenPorts } from "./free-port.ts";
import { setHandlers } from "./handlers/current-handlers.ts";
import { type OwnHandlers, ownHandlers } from "./handlers/own-handlers.ts";
import { namesOf, toldInLog, watchHandlers } from "./handlers/watch-handlers.ts";
import { PortTaken } from "./http-server.ts";
import { exitCodes, runUntil } from "./run-until.ts";
import { type LocalSettings, portVariables, readSettings } from "./settings.ts";
import { untilStopped } from "./until-stopped.ts";

const portPatienceMs = 1_500;

/** `npm start`: runs the stack until it is stopped. */
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
    if (own !== null) watchHandlers(own, { renew: stack.renew, told: toldInLog(log) });
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
