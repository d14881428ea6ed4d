import type { Move } from "../../client/main.ts";
import { CarillonProblem } from "../../client/main.ts";
import { PartlyDone } from "../fault.ts";
import type { Output } from "../output/output.ts";
import { printable } from "../output/style.ts";
import { counted } from "../output/table.ts";
import type { Stuck } from "./drive.ts";
import type { Installation } from "./installations.ts";
import type { Outcome } from "./move-prefix.ts";
import type { Undone } from "./undo-move.ts";

/** Why schedules stay, and how they can be moved. */
const reasons: Readonly<Record<string, string>> = {
  running:
    "one of its jobs, or of its group, is running. Run the command again. The schedule is stopped until then, and its occurrences run late.",
  unfrozen: "it is new, or its hold was released. Run the command again.",
  group:
    "its group runs one job at a time, and some of its schedules cannot move: they are outside of the prefix, or have credentials. Change their group, and run the command again.",
  credentials:
    "its webhook has credentials, which no other installation can read. docs/move.md#schedules-that-are-not-moved has the steps.",
  unreadable:
    "it is in quarantine, or its stored values cannot be read. See `carillon quarantine`, then run the command again.",
  jobs: "it has too many open jobs. Cancel some or let them end, and run the command again. The schedule is stopped until then, and its occurrences run late.",
  refused: "the source refused to stop it.",
  "refused by the destination":
    "the destination refused it. It runs at the source again. Remove the cause, and run the command again.",
};

/** More keys of one reason are counted. */
const keysShown = 20;

export function showLeft(out: Output, left: readonly Stuck[]): void {
  for (const [why, some] of Map.groupBy(left, (each) => each.why)) {
    out.note(printable(`${counted(some.length, "schedule")} not moved: ${reasons[why] ?? why}`));
    for (const { key, detail } of some.slice(0, keysShown))
      out.note(printable(`  ${key}${detail === undefined ? "" : `: ${detail}`}`));
    if (some.length > keysShown) out.note(`  and ${counted(some.length - keysShown, "other")}`);
  }
}

/** The two installations, as the user has named them. */
export interface Ends {
  from: Pick<Installation, "url">;
  to: Pick<Installation, "url">;
}

export function outcomeAsJson({ move, moved, taken, arrived, left, isEnded }: Outcome) {
  return { id: move.id, prefix: move.prefix, to: move.peer, moved, taken, arrived, left, ended: isEnded };
}

export function showOutcome(out: Output, { from, to }: Ends, outcome: Outcome): void {
  const { move, moved, arrived, left, isEnded } = outcome;
  const prefix = JSON.stringify(move.prefix);
  const total = arrived === moved ? "" : `, ${grouped(arrived)} in all`;
  out.line(
    printable(`Moved ${counted(moved, "schedule")} of ${prefix} from ${from.url} to ${to.url}${total}.`),
  );
  if (isEnded)
    out.line(
      printable(
        `The move has ended. ${from.url} makes no schedule of ${prefix} any more, and names ${to.url}.`,
      ),
    );
  else if (left.length === 0)
    out.line(
      printable(
        `New schedules of ${prefix} can still be made at ${from.url}. Send the callers to ${to.url}, then run the command with --finish.`,
      ),
    );
}

/** The end of an undo at the installation that the prefix had left. */
export function showUndone(
  out: Output,
  { prefix, here, there }: { prefix: string; here: Installation; there: Installation | null },
  { back, released, unasked }: Undone,
): void {
  if (back === null || there === null)
    out.line(printable(`No schedule of ${JSON.stringify(prefix)} had been moved.`));
  else {
    showOutcome(out, { from: there, to: here }, back);
    showLeft(out, back.left);
  }
  if (released > 0) out.line(`Released ${counted(released, "schedule")} that the move had stopped.`);
  if (unasked !== null)
    out.note(
      printable(
        `The move has ended at ${here.url} alone. If it has begun at ${unasked} too, run the command again with --to ${unasked}: until then, other moves of the prefix are refused there.`,
      ),
    );
}

const grouped = (count: number) => count.toLocaleString("en-GB");

/** The end of a run that could not move all schedules. */
export function refuseLeft({ left }: Outcome): void {
  if (left.length === 0) return;
  const detail = "Some schedules could not be moved.";
  const cause = new CarillonProblem({ type: "about:blank", title: "Not moved", status: 409, detail });
  throw new PartlyDone(`${counted(left.length, "schedule")} could not be moved.`, { cause });
}

/** A move that has not ended, with the numbers of both sides as far as they are known. */
export interface MoveLine {
  move: Move;
  left: number | null;
  taken: number | null;
  unconfirmed: number | null;
  arrived: number | null;
}

const number = (value: number | null) => (value === null ? "-" : grouped(value));

export function showMoves(out: Output, lines: readonly MoveLine[]): void {
  if (out.isJson) {
    for (const { move, ...numbers } of lines) out.json({ ...move, ...numbers });
    return;
  }
  const right = { align: "right", whole: true } as const;
  out.table(
    [
      { title: "PREFIX", text: ({ move }: MoveLine) => move.prefix },
      {
        title: "WAY",
        text: ({ move }: MoveLine) => `${move.direction === "out" ? "to" : "from"} ${move.peer}`,
      },
      { title: "BEGUN", text: ({ move }: MoveLine) => out.times.relative(move.begunAt), whole: true },
      {
        title: "NEW ONES",
        text: ({ move }: MoveLine) => (move.closedAt === null ? "allowed" : "refused"),
        whole: true,
      },
      { title: "LEFT", text: ({ left }: MoveLine) => number(left), ...right },
      { title: "TAKEN", text: ({ taken }: MoveLine) => number(taken), ...right },
      { title: "ON THE WAY", text: ({ unconfirmed }: MoveLine) => number(unconfirmed), ...right },
      { title: "ARRIVED", text: ({ arrived }: MoveLine) => number(arrived), ...right },
    ],
    lines,
    "No move is open.",
  );
}
