import { refuseDeep } from "../../command/json-depth.ts";
import { timeOfCall } from "../../edit/act-in-halves.ts";
import { type ArrivalProgress, arrivalProgress } from "../../move/arrival-progress.ts";
import { type MoveProgress, progressOf } from "../../move/hand-over-parts.ts";
import {
  type Brought,
  type DestinationSteps,
  destinationSteps,
  type MoveDeps,
  type SourceSteps,
  sourceSteps,
} from "../../move/move-steps.ts";
import { docFormat, type MovedPart, movedPartShape } from "../../move/moved-doc.ts";
import {
  beginArrival,
  beginMove,
  findMove,
  forgetMove,
  listMoves,
  type Move,
  type MoveAsked,
} from "../../move/moves.ts";
import { Refusal } from "../../refusal.ts";
import { highestCharacter } from "../../schedule/filter-schedules.ts";
import type { Caller } from "../../schedule/shape/caller.ts";

/** A part of a schedule on its way, as the driver of a move carries it. */
export interface PartText {
  id: string;
  part: number;
  /** The key of the schedule, in its first part. */
  key: string | null;
  /** JSON, which only the destination reads. */
  document: string;
}

/** The operations on moves of a prefix to another installation, and on those that come from there. */
export interface MoveOperations {
  begin(asked: MoveAsked): Promise<Move>;
  /** The newest first. */
  list(): PromiseLike<Move[]>;
  read(id: string): Promise<{ move: Move; progress: MoveProgress }>;
  forget(asked: { id: string; caller: Caller }): Promise<void>;
  source(id: string, caller: Caller): Omit<SourceSteps, "parts"> & { parts(): Promise<PartText[]> };
  beginArrival(asked: MoveAsked & { id: string }): Promise<Move>;
  readArrival(id: string): Promise<{ move: Move; progress: ArrivalProgress }>;
  /** `bring` stops when its time is up: parts that it did not reach have no result. */
  destination(
    id: string,
    caller: Caller,
  ): Omit<DestinationSteps, "bring"> & { bring(parts: readonly PartText[]): Promise<Brought[]> };
}

export function moveOperations(deps: MoveDeps): MoveOperations {
  const { sql } = deps;
  return {
    begin: (asked) => beginMove(sql, asked),
    list: () => listMoves(sql, ""),
    read: async (id) => {
      const move = await findMove(sql, id, "out");
      return { move, progress: await progressOf(sql, move, move.prefix + highestCharacter) };
    },
    forget: (asked) => forgetMove(sql, asked),
    source: (id, caller) => {
      const steps = sourceSteps(deps, id, caller);
      return { ...steps, parts: async () => partsOfAnswer((await steps.parts()).map(textOf)) };
    },
    beginArrival: async (asked) => sameAs(asked, await beginArrival(sql, asked)),
    readArrival: async (id) => {
      const move = await findMove(sql, id, "in");
      return { move, progress: await arrivalProgress(sql, id) };
    },
    destination: (id, caller) => {
      const steps = destinationSteps(deps, id, caller);
      return { ...steps, bring: (parts) => bringInTime(steps, parts) };
    },
  };
}

/** A move whose destination is its source would find itself. */
function sameAs({ id, prefix, peer }: MoveAsked & { id: string }, known: Move): Move {
  if (known.direction === "in" && known.prefix === prefix && known.peer === peer) return known;
  throw new Refusal(
    "conflict",
    known.direction === "out"
      ? `The move ${id} begins in this installation, so it cannot end here.`
      : `The move ${id} is of ${JSON.stringify(known.prefix)} from ${known.peer}.`,
  );
}

function textOf(part: unknown): PartText {
  const { id, part: n, schedule } = movedPartShape.parse(part);
  return { id, part: n, key: schedule?.key ?? null, document: JSON.stringify(part) };
}

/** Documents are texts within JSON, in an answer and then in a request. Both are within the limits of Lambda. */
const bytesMax = 3_000_000;

function partsOfAnswer(parts: readonly PartText[]): PartText[] {
  let bytes = 0;
  return parts.filter(({ document }, index) => {
    bytes += Buffer.byteLength(JSON.stringify(document));
    return index === 0 || bytes <= bytesMax;
  });
}

async function bringInTime(
  steps: Pick<DestinationSteps, "bring">,
  parts: readonly PartText[],
): Promise<Brought[]> {
  const timeIsUp = timeOfCall();
  const readable: MovedPart[] = [];
  const brought: Brought[] = [];
  for (const each of parts) {
    const read = readPart(each);
    if ("part" in read) readable.push(read.part);
    else brought.push({ id: each.id, part: each.part, became: "impossible", refusal: read.refusal });
  }
  return [...brought, ...(await steps.bring(readable, timeIsUp))];
}

/** Reads a document, which may be of an installation with another release. */
function readPart({ id, part, document }: PartText): { part: MovedPart } | { refusal: string } {
  const read = movedPartShape.safeParse(jsonOf(document));
  if (read.success && read.data.id === id && read.data.part === part) return { part: read.data };
  return {
    refusal: `The document cannot be read by this release, which reads format ${docFormat}. Deploy the same release in both installations.`,
  };
}

function jsonOf(text: string): unknown {
  try {
    refuseDeep(text);
    return JSON.parse(text);
  } catch {
    return null;
  }
}
