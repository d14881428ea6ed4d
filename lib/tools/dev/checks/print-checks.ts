import { parseArguments } from "../../../cli/arguments.ts";
import { devText } from "../../../cli/dev/dev-options.ts";
import { type Check, checkMark } from "../../../cli/doctor/check.ts";
import { type Clock, systemClock } from "../../../clock.ts";
import { type DevSettings, devSettings } from "../dev-settings.ts";
import { checkData } from "./check-data.ts";
import { checkHandlers } from "./check-handlers.ts";
import { checkPorts } from "./check-ports.ts";
import { checkPostgres } from "./check-postgres.ts";
import { checkSchedules } from "./check-schedules.ts";

/**
 * `carillon-dev checks`, which `carillon doctor` runs: prints a line of JSON for each check. A
 * process of its own, because it loads modules of the app.
 */
export async function printChecks(args: readonly string[], clock: Clock = systemClock): Promise<number> {
  const folder = process.cwd();
  for (const check of await allChecks(args, { folder, clock }))
    process.stdout.write(`\n${checkMark}${JSON.stringify(check)}\n`);
  return 0;
}

async function allChecks(
  args: readonly string[],
  { folder, clock }: { folder: string; clock: Clock },
): Promise<Check[]> {
  let settings: DevSettings;
  try {
    settings = devSettings(parseArguments(devText, args).given, process.env, folder);
  } catch (error) {
    return [
      { name: "settings", state: "wrong", text: error instanceof Error ? error.message : String(error) },
    ];
  }
  const { isRunning, ...data } = checkData(settings.local.dataDir);
  const handlers = await checkHandlers(settings.handlers, folder);
  const parts = { folder, now: clock.now(), local: settings.local, handlers: handlers.loaded };
  return [
    checkPostgres(settings.local),
    data,
    await checkPorts(settings, { isRunning, clock }),
    handlers.check,
    await checkSchedules(settings.schedules, parts),
  ];
}
