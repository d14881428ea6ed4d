import { type BulkAction, type BulkDone, CarillonProblem, type ScheduleFilter } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { dryRunOption, yesOption } from "./common-options.ts";
import { PartlyDone, UsageFault } from "./fault.ts";
import { filterText } from "./job-filter-options.ts";
import { noteMoved } from "./output/moved-note.ts";
import { printable } from "./output/style.ts";
import { counted } from "./output/table.ts";
import { bulkFilterOptions } from "./schedule-filter.ts";
import type { Times } from "./times.ts";

export const bulkOptions = {
  ...bulkFilterOptions,
  all: { about: "Every schedule that the token reaches" },
  reason: { value: "text", about: "The reason, for the audit" },
  ...yesOption,
  ...dryRunOption,
} as const satisfies Record<string, OptionSpec>;

type BulkCall = Call<"all" | "yes" | "dry-run" | "reason">;

const words = {
  pause: { ask: "Hold", would: "held", done: "Held" },
  resume: { ask: "Release", would: "released", done: "Released" },
  delete: { ask: "Delete", would: "deleted", done: "Deleted" },
  patch: { ask: "Change", would: "changed", done: "Changed" },
} as const;

export function isFiltered(filter: ScheduleFilter): boolean {
  return Object.values(filter).some((value) => value !== undefined);
}

/**
 * A bulk action on the matching schedules. On a terminal it shows their number and asks; in a
 * script it needs `--yes`.
 */
export async function bulk(call: BulkCall, filter: ScheduleFilter, action: BulkAction): Promise<void> {
  const { given, client, out, signal } = call;
  const all = given.flag("all") ? { all: true as const } : {};
  if (isFiltered(filter) === given.flag("all"))
    throw new UsageFault("Name the schedules: a key, filters such as --prefix, or --all.");
  const asked = { ...action, filter, ...all, reason: given.text("reason") };
  const { verb } = action;
  if (given.flag("dry-run")) return preview(call, asked);
  if (!given.flag("yes") && !(await isConfirmed(call, asked))) return;
  const total: BulkDone = { done: 0, unchanged: 0, failed: 0, failures: [] };
  for (let cursor: string | undefined; ; ) {
    const part = await client.schedules.changeMany(asked, { cursor, signal });
    total.done += part.done;
    total.unchanged += part.unchanged;
    total.failed += part.failed;
    total.failures.push(...part.failures);
    if (part.movedTo !== undefined) total.movedTo = part.movedTo;
    cursor = part.cursor;
    if (cursor === undefined) break;
    out.note(`${counted(total.done, "schedule")} so far`);
  }
  noteMoved(out, filter.prefix, total.movedTo);
  show(call, verb, total);
}

/** Shows the number of schedules and asks. False if no schedule matches. */
async function isConfirmed({ client, out, signal, confirm }: BulkCall, action: BulkAction): Promise<boolean> {
  const { count, more, movedTo } = await client.schedules.tryMany(action, { signal });
  const { filter = {} } = action;
  if (count === 0 && !more) {
    if (out.isJson)
      out.json({
        done: 0,
        unchanged: 0,
        failed: 0,
        failures: [],
        ...(movedTo === undefined ? {} : { movedTo }),
      });
    else out.note("No schedule matches.");
    noteMoved(out, filter.prefix, movedTo);
    return false;
  }
  const which = isFiltered(filter) ? filterText(filter) : "all";
  await confirm(`${words[action.verb].ask} ${numberText(count, more)} (${which})?`, false);
  return true;
}

function numberText(count: number, more: boolean): string {
  return more ? `${count} or more schedules` : counted(count, "schedule");
}

async function preview(call: BulkCall, action: BulkAction): Promise<void> {
  const { client, out, signal } = call;
  const found = await client.schedules.tryMany(action, { signal });
  if (out.isJson) {
    out.json(found);
    return;
  }
  for (const { key, changes, refused } of found.samples) {
    if (refused !== undefined) out.line(printable(`${key}: refused: ${refused}`));
    else if (changes === undefined) out.line(printable(key));
    else out.line(`${printable(key)}: ${timesText(out, changes.before)} → ${timesText(out, changes.after)}`);
  }
  const { count, more, samples } = found;
  if (count > samples.length || more) out.line("…");
  const how = action.verb === "pause" ? holdText(action, out.times) : "";
  out.line(printable(`${numberText(count, more)} would be ${words[action.verb].would}${how}.`));
  if (found.paused !== undefined) showPaused(out, action, found.paused);
  noteMoved(out, action.filter?.prefix, found.movedTo);
}

/** The end and the reason that a hold would have. */
function holdText({ until, reason }: Extract<BulkAction, { verb: "pause" }>, times: Times): string {
  const end =
    until === undefined || until === null
      ? ", without an end"
      : ` until ${times.both(new Date(until).toISOString())}`;
  return `${end}${reason === undefined || reason === null ? "" : `: ${reason}`}`;
}

/** A filter by state leaves none or all of the matching schedules. */
function showPaused(
  out: BulkCall["out"],
  { filter }: BulkAction,
  { count, more }: { count: number; more: boolean },
): void {
  if (filter?.state !== undefined || (count === 0 && !more)) return;
  out.line(`${count}${more ? " or more" : ""} of them ${count === 1 && !more ? "is" : "are"} held already.`);
}

const shownTimes = 3;

function timesText({ times }: BulkCall["out"], instants: readonly string[]): string {
  if (instants.length === 0) return "no run";
  return instants
    .slice(0, shownTimes)
    .map((at) => times.wall(at))
    .join(", ");
}

function show({ out }: BulkCall, verb: BulkAction["verb"], total: BulkDone): void {
  const { done, unchanged, failed, failures } = total;
  if (out.isJson) out.json(total);
  else {
    for (const { key, detail } of failures) out.note(printable(`${key}: ${detail}`));
    const same = unchanged === 0 ? "" : `; ${counted(unchanged, "schedule")} already so`;
    out.line(`${words[verb].done} ${counted(done, "schedule")}${same}.`);
  }
  if (failed === 0) return;
  // A failure of the server decides the exit code before a refusal, because a retry may succeed.
  const decisive = failures.find(({ status }) => status >= 500) ?? failures[0];
  const { status = 500, detail = "" } = decisive ?? {};
  const cause = new CarillonProblem({ type: "about:blank", title: "Left unchanged", status, detail });
  throw new PartlyDone(`${counted(failed, "schedule")} could not be ${words[verb].would}.`, { cause });
}
