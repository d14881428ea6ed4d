import path from "node:path";
import { parseArguments } from "../../cli/arguments.ts";
import { devText } from "../../cli/dev/dev-options.ts";
import { UsageFault } from "../../cli/fault.ts";
import { commandHelp } from "../../cli/help.ts";
import { painter, printable } from "../../cli/output/style.ts";
import { type Clock, systemClock } from "../../clock.ts";
import { surviveStrayExceptions, surviveStrayRejections } from "../../config/strays.ts";
import { briefLog, jsonLog, type Log, textLog } from "../../log/log.ts";
import { type DataDir, keepText, keptSecret, openDataDir } from "../local/data-dir.ts";
import { PortTaken } from "../local/http-server.ts";
import { exitCodes, runUntil } from "../local/run-until.ts";
import type { LocalSettings } from "../local/settings.ts";
import { untilStopped } from "../local/until-stopped.ts";
import { choosePorts, textOfPorts } from "./choose-ports.ts";
import { type DevSettings, devSettings } from "./dev-settings.ts";
import { runProject } from "./run-project.ts";
import { runTestClock } from "./run-test-clock.ts";

/** The exit code of a command line that is not valid, as in the CLI. */
const usage = 2;

/** `carillon-dev`, and so `carillon dev`: runs the stack with a project until it is stopped. */
export async function dev(args: readonly string[], clock: Clock = systemClock): Promise<number> {
  try {
    const { words, given } = parseArguments(devText, args);
    if (given.flag("help")) {
      process.stdout.write(`${commandHelp(devText)}\n`);
      return exitCodes.stopped;
    }
    if (words[0] !== undefined) throw new UsageFault(`dev takes no argument ${JSON.stringify(words[0])}.`);
    const settings = devSettings(given, process.env, process.cwd());
    const colours =
      process.stdout.isTTY === true && !given.flag("no-color") && (process.env["NO_COLOR"] ?? "") === "";
    return await runDev(settings, { clock, colours });
  } catch (error) {
    const sentence = error instanceof Error ? error.message : String(error);
    process.stderr.write(`${printable(sentence)}\n`);
    if (error instanceof UsageFault) process.stderr.write("See carillon help dev.\n");
    return error instanceof UsageFault
      ? usage
      : error instanceof PortTaken
        ? exitCodes.portTaken
        : exitCodes.failed;
  }
}

async function runDev(
  settings: DevSettings,
  { clock, colours }: { clock: Clock; colours: boolean },
): Promise<number> {
  const stopping = new AbortController();
  const log = logIn(settings.local.functionLog, { clock, stopping: stopping.signal });
  surviveStrayRejections(log);
  surviveStrayExceptions(log);
  const stopSignal = untilStopped();
  const { testClock } = settings;
  if (testClock !== null) {
    const kept = path.join(settings.local.dataDir, "ports");
    const { ports } = await choosePorts({ ...settings.ports, kept }, clock);
    const parts = { port: ports.api, folder: process.cwd(), log };
    return runUntil(stopSignal, await runTestClock({ ...settings, testClock }, parts), { clock, log });
  }
  // Locked first: the ports of a stack that runs on this data are taken, by that stack.
  const dataDir = openDataDir(settings.local.dataDir, "--data");
  const { local, why } = await preparedSettings(settings, dataDir, clock);
  const project = await runProject({
    settings: { ...settings, local },
    dataDir,
    portsWhy: why,
    folder: process.cwd(),
    paint: painter(colours),
    print: (line) => void process.stdout.write(`${line}\n`),
    signal: stopping.signal,
    clock,
    log,
  });
  void stopSignal.then(() => stopping.abort());
  return runUntil(stopSignal, project, { clock, log });
}

/** The settings with ports and a token, which are kept for the next start. */
async function preparedSettings(
  { local, ports: wanted }: DevSettings,
  dataDir: DataDir,
  clock: Clock,
): Promise<{ local: LocalSettings; why: string | null }> {
  try {
    const { ports, why, isKept } = await choosePorts({ ...wanted, kept: dataDir.portsFile }, clock);
    if (isKept) keepText(dataDir.portsFile, textOfPorts(ports));
    return { local: { ...local, ports, token: local.token ?? keptSecret(dataDir.tokenFile) }, why };
  } catch (error) {
    dataDir.release();
    throw error;
  }
}

function logIn(
  form: LocalSettings["functionLog"],
  { clock, stopping }: { clock: Clock; stopping: AbortSignal },
): Log {
  if (form === "json") return jsonLog();
  if (form === "text") return textLog("local", clock.now);
  // Errors of work that a stop interrupts are left out: the person has stopped it.
  return briefLog("carillon", clock.now, (line) => {
    if (!stopping.aborted) process.stdout.write(`${line}\n`);
  });
}
