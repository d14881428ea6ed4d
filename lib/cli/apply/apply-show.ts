import type { Output } from "../output/output.ts";
import { type Colour, printable } from "../output/style.ts";
import { counted, cut } from "../output/table.ts";
import type { Change, Planned } from "./apply-plan.ts";

const signs: Readonly<Record<Change, readonly [string, Colour]>> = {
  create: ["+", "green"],
  change: ["~", "yellow"],
  keep: ["=", "dim"],
  remove: ["-", "red"],
  over: [".", "dim"],
  impossible: ["!", "red"],
};

const words: Readonly<Record<Change, string>> = {
  create: "to create",
  change: "to change",
  keep: "unchanged",
  remove: "to remove",
  over: "over",
  impossible: "impossible",
};

const valueWidth = 160;
const namedMax = 4;

/** Lists the planned change of each schedule. Unchanged schedules are only counted. */
export function showPlan(out: Output, planned: readonly Planned[]): void {
  const shown = planned.filter(({ change, operation }) => change !== "keep" || operation !== null);
  const several = sharedDifferences(shown);
  for (const each of shown) showPlanned(out, each, several);
  for (const [difference, keys] of several) {
    const whose =
      keys.length === shown.filter(({ change }) => isWritten(change)).length
        ? `All ${keys.length}`
        : keys.length <= namedMax
          ? keys.join(", ")
          : `${keys.slice(0, namedMax).join(", ")} and ${keys.length - namedMax} more`;
    out.line(`${out.paint("differs", "blue")} ${printable(whose)}: ${printable(difference)}`);
  }
  out.line(`${summary(planned)}.`);
}

export function summary(planned: readonly Planned[]): string {
  const counts = Object.entries(words).flatMap(([change, text]) => {
    const count = planned.filter((each) => each.change === change).length;
    return count === 0 ? [] : [`${count} ${text}`];
  });
  return counts.length === 0 ? "No schedule" : `${counted(planned.length, "schedule")}: ${counts.join(", ")}`;
}

function showPlanned(out: Output, planned: Planned, several: ReadonlyMap<string, string[]>): void {
  const { change, key, from, changes, next, cadenceText, timezone, differences, warnings, faults } = planned;
  const [sign, colour] = signs[change];
  const subject = key ?? from ?? "";
  const place = from === null || from === subject ? "" : out.paint(` (${printable(from)})`, "dim");
  const times = cadenceText === null ? "" : `: ${printable(cadenceText)}`;
  out.line(`${out.paint(sign, colour)} ${change} ${printable(subject)}${place}${times}`);
  for (const { path, before, after } of changes)
    out.line(`    ${path}: ${valueText(before)} → ${valueText(after)}`);
  if (next.length > 0) {
    const zone = timezone === null ? "" : ` (${out.times.zone})`;
    out.line(`    next${zone}: ${next.map((at) => out.times.wall(at)).join(", ")}`);
  }
  for (const fault of faults) out.line(`    ${out.paint(printable(fault), "red")}`);
  for (const warning of warnings) out.line(`    ${out.paint(printable(warning), "yellow")}`);
  for (const difference of isWritten(change) ? differences : [])
    if (!several.has(difference)) out.line(`    ${out.paint("differs", "blue")} ${printable(difference)}`);
}

function isWritten(change: Change): boolean {
  return change === "create" || change === "change";
}

function valueText(value: unknown): string {
  return cut(printable(JSON.stringify(value) ?? "none"), valueWidth);
}

/**
 * Differences of several schedules, each printed once. Schedules that are not written are left out.
 */
function sharedDifferences(planned: readonly Planned[]): Map<string, string[]> {
  const keys = new Map<string, string[]>();
  for (const { change, key, from, differences } of planned)
    if (isWritten(change))
      for (const difference of differences)
        keys.set(difference, [...(keys.get(difference) ?? []), key ?? from ?? ""]);
  return new Map([...keys].filter(([, all]) => all.length > 1));
}

/** One object per schedule; `result` is present only where a change was sent. */
export function plannedJson(
  { operation: _, key, change, from, ...planned }: Planned,
  beside: object,
): object {
  return { key, change, from, ...planned, ...beside };
}
