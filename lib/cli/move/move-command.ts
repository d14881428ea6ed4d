import { type Call, command } from "../command.ts";
import { yesOption } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { durationMs } from "../instants.ts";
import { printable } from "../output/style.ts";
import { counted } from "../output/table.ts";
import { whyOutOfReach } from "./ask-destination.ts";
import type { DriveOptions } from "./drive.ts";
import { type Installation, installationHere, installationThere } from "./installations.ts";
import { arrivalOf, type Moving, movePrefix } from "./move-prefix.ts";
import {
  type MoveLine,
  outcomeAsJson,
  refuseLeft,
  showLeft,
  showMoves,
  showOutcome,
  showUndone,
} from "./show-move.ts";
import { type Undoing, undoMove } from "./undo-move.ts";

const options = {
  prefix: { value: "prefix", about: "The schedules whose keys begin with this" },
  to: { value: "url", about: "The address of the installation to which they move" },
  "to-token-file": {
    value: "file",
    about: "A file with a token of that installation; default: CARILLON_TO_TOKEN",
  },
  finish: { about: "Then make no schedule of the prefix here any more, and end the move" },
  undo: { about: "Move the prefix back, and end the move. A move that has taken nothing needs no --to" },
  status: { about: "Show the moves that have not ended, without changing anything" },
  wait: { value: "duration", about: "How long to wait for jobs that run; default: 10m" },
  page: { value: "n", about: "How many schedules are stopped at a time, 1 to 200; default: 100" },
  ...yesOption,
} as const;

export const moveCommand = command({
  name: "move",
  group: "Operation",
  summary: "Move all schedules of a prefix to another installation",
  usage: "--prefix <prefix> --to <url>",
  about:
    "Schedules move with their versions, holds and open jobs, a page at a time. Each occurrence runs once: before the move here, and then there. A command that was stopped can be run again at any time. Without --finish, new schedules of the prefix can still be made here. Both tokens need scope admin, for all keys. docs/move.md has all steps.",
  words: { min: 0, max: 0 },
  options,
  examples: [
    "carillon move --prefix acme: --to https://carillon-2.example.com",
    "carillon move --prefix acme: --to https://carillon-2.example.com --finish",
    "carillon move --status",
    "carillon move --prefix acme: --to https://carillon-2.example.com --undo",
  ],
  run: async (call) => {
    const verbs = (["finish", "undo", "status"] as const).filter((name) => call.given.flag(name));
    if (verbs.length > 1) throw new UsageFault("Give one of --finish, --undo and --status.");
    if (call.given.flag("status")) return status(call);
    return call.given.flag("undo") ? undo(call) : move(call, movingOf(call));
  },
});

function movingOf(call: Call): Moving {
  const undoing = undoingOf(call);
  const { destination } = undoing;
  if (destination === null)
    throw new UsageFault("Name the schedules and the other installation: --prefix and --to.");
  return { ...undoing, destination };
}

function undoingOf(call: Call): Undoing {
  const { given, signal } = call;
  const [prefix, to] = [given.text("prefix"), given.text("to")];
  if (prefix === undefined || prefix === "") throw new UsageFault("Name the schedules: --prefix.");
  return {
    prefix,
    source: installationHere(call),
    destination: to === undefined ? null : installationThere(call, to),
    options: driveOptions(call),
    signal,
  };
}

function driveOptions(call: Call): DriveOptions {
  const { given, out, now, pause } = call;
  const wait = given.text("wait") ?? "10m";
  const waitMs = durationMs(wait);
  if (waitMs === undefined)
    throw new UsageFault(`--wait takes a duration such as 10m, not ${JSON.stringify(wait)}.`);
  let said = 0;
  return {
    page: given.number("page", { min: 1, max: 200 }) ?? 100,
    waitMs,
    sleep: pause,
    now,
    report: ({ moved }) => {
      if (moved > said) out.note(`${counted(moved, "schedule")} so far`);
      said = moved;
    },
  };
}

async function move(call: Call, moving: Moving): Promise<void> {
  const { given, out } = call;
  const { prefix, source, destination } = moving;
  const finish = given.flag("finish");
  const end = finish ? ", and refuse new ones here" : "";
  await call.confirm(
    `Move all schedules of ${JSON.stringify(prefix)} from ${source.url} to ${destination.url}${end}?`,
    given.flag("yes"),
  );
  const outcome = await movePrefix(moving, { finish });
  if (out.isJson) out.json(outcomeAsJson(outcome));
  else {
    showOutcome(out, { from: source, to: destination }, outcome);
    showLeft(out, outcome.left);
  }
  refuseLeft(outcome);
}

async function undo(call: Call): Promise<void> {
  const { given, out } = call;
  const undoing = undoingOf(call);
  const { prefix, source, destination } = undoing;
  const named = JSON.stringify(prefix);
  await call.confirm(
    destination === null
      ? `End the move of ${named} out of ${source.url}?`
      : `Move all schedules of ${named} back from ${destination.url} to ${source.url}?`,
    given.flag("yes"),
  );
  const undone = await undoMove(undoing);
  const { back, released, unasked } = undone;
  if (out.isJson) out.json({ back: back === null ? null : outcomeAsJson(back), released, unasked });
  else showUndone(out, { prefix, here: source, there: destination }, undone);
  if (back !== null) refuseLeft(back);
}

async function status(call: Call): Promise<void> {
  const { given, out, signal } = call;
  const [prefix, to] = [given.text("prefix"), given.text("to")];
  const here = installationHere(call);
  const there = to === undefined ? null : installationThere(call, to);
  const open = (await here.client.moves.list({ signal })).filter(
    (each) => each.endedAt === null && (prefix === undefined || each.prefix === prefix),
  );
  const asked = await answering(call, there);
  const lines: MoveLine[] = [];
  for (const each of open) lines.push(await lineOf(each, { here, there: asked, signal }));
  showMoves(out, lines);
}

/** The other installation; null if it cannot be asked, which leaves its numbers out. */
async function answering({ out, signal }: Call, there: Installation | null): Promise<Installation | null> {
  const why = there === null ? null : await whyOutOfReach(there, signal);
  if (there === null || why === null) return there;
  out.note(printable(`The numbers of ${there.url} are missing. ${why}`));
  return null;
}

async function lineOf(
  each: MoveLine["move"],
  { here, there, signal }: { here: Installation; there: Installation | null; signal: AbortSignal },
): Promise<MoveLine> {
  const none = { left: null, taken: null, unconfirmed: null, arrived: null };
  if (each.direction === "in") {
    const { progress } = await here.client.arrivals.get(each.id, { signal });
    return { move: each, ...none, arrived: progress.arrived };
  }
  const { progress } = await here.client.moves.get(each.id, { signal });
  const arrival = there?.url === each.peer ? await arrivalOf(there, each.id, signal) : null;
  return { move: each, ...progress, arrived: arrival?.progress.arrived ?? null };
}
