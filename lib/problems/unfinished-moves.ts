import { isoInstant } from "../cadence/zone/civil.ts";
import type { UnfinishedMove } from "../move/unfinished-moves.ts";
import { amountText, commandWith, type Problem, problem } from "./problem.ts";

/** Moves that have stopped half-way: their schedules run nowhere until the command runs again. */
export function unfinishedMoveProblems(moves: readonly UnfinishedMove[]): Problem[] {
  return moves.map((move) => {
    const { prefix, peer, away, awaySince, more, stopped, stoppedSince } = move;
    const since = [awaySince, stoppedSince].flatMap((each) => each ?? []).sort((a, b) => +a - +b)[0] ?? null;
    return problem({
      kind: "move-unfinished",
      since,
      count: { count: away + stopped, more },
      text: `${[awayText(move), stoppedText(move)].filter((each) => each !== "").join(" ")} Unless \`carillon move\` is running, run it again.`,
      path: "/v1/moves",
      command: commandWith("carillon move", { prefix, to: peer }),
    });
  });
}

function awayText({ prefix, peer, away, awaySince, more }: UnfinishedMove): string {
  if (away === 0 || awaySince === null) return "";
  const of = `of ${JSON.stringify(prefix)}`;
  const count = { count: away, more };
  const left = amountText(count, `schedule ${of} has left`, `schedules ${of} have left`);
  const runs = away === 1 && !more ? "it has not arrived, and runs" : "they have not arrived, and run";
  return `${left} for ${peer} at ${isoInstant(awaySince.getTime())}: ${runs} in neither installation.`;
}

function stoppedText({ prefix, peer, stopped, stoppedSince }: UnfinishedMove): string {
  if (stopped === 0 || stoppedSince === null) return "";
  const of = `of ${JSON.stringify(prefix)}`;
  const count = { count: stopped, more: false };
  const are = amountText(count, `schedule ${of} is stopped`, `schedules ${of} are stopped`);
  return `${are} by the move to ${peer} since ${isoInstant(stoppedSince.getTime())}.`;
}
