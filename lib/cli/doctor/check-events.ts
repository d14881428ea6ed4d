import { type Carillon, isInvalid, type ScheduleSummary } from "../../client/main.ts";
import type { Call } from "../command.ts";
import { counted } from "../output/table.ts";
import type { Check } from "./check.ts";

/** Largest number of schedules that are read, and of different events among them that are tried. */
const readMax = 500;
const triedMax = 20;

type EventsCall = Pick<Call, "signal"> & { client: Carillon };

/**
 * Whether the API would save the events of the stored schedules again. A schedule stays where a
 * deployment narrows its lists of sources and buses, and its jobs are dead from then on.
 */
export async function checkEvents({ client, signal }: EventsCall): Promise<Check> {
  const name = "events";
  const { schedules, isAll } = await readFirst({ client, signal });
  if (schedules.length === 0) return { name, state: "none", text: "no schedule sends an event" };
  const alike = [...Map.groupBy(schedules, ({ target }) => JSON.stringify(target)).values()];
  for (const some of alike.slice(0, triedMax)) {
    const [first] = some;
    const fault = first === undefined ? null : await faultOf({ client, signal }, first);
    if (fault === null) continue;
    const these = `${counted(some.length, "schedule")}${isAll ? "" : " or more"}, such as ${first?.key}`;
    const remedy = "allow it in the deployment, or change the schedules";
    return { name, state: "wrong", text: `${these}: ${fault}: ${remedy}` };
  }
  const which = isAll && alike.length <= triedMax ? "" : " that were looked at";
  return {
    name,
    state: "good",
    text: `the events of ${counted(schedules.length, "schedule")}${which} are allowed`,
  };
}

async function readFirst({ client, signal }: EventsCall) {
  const schedules: ScheduleSummary[] = [];
  const pages = client.schedules.list({ target: "event", limit: 100, signal }).pages();
  for await (const { items, cursor } of pages) {
    schedules.push(...items);
    if (cursor === undefined) return { schedules, isAll: true };
    if (schedules.length >= readMax) break;
  }
  return { schedules, isAll: false };
}

/** A preview checks a target as a put does, and changes nothing. */
async function faultOf({ client, signal }: EventsCall, { target }: ScheduleSummary): Promise<string | null> {
  if (target === null) return null;
  try {
    await client.schedules.preview({ when: "every 1d", target, n: 1 }, { signal });
    return null;
  } catch (error) {
    const fault = isInvalid(error)
      ? error.errors.find(({ path }) => path.startsWith("target.event"))
      : undefined;
    if (fault === undefined) throw error;
    return `${fault.path} ${fault.message}`;
  }
}
