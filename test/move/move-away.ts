import { sourceSteps } from "../../lib/move/move-steps.ts";
import { movedPartShape } from "../../lib/move/moved-doc.ts";
import { beginMove } from "../../lib/move/moves.ts";
import type { Carillon } from "../support/carillon.ts";
import { accept, caller } from "./two-installations.ts";

export const peer = "https://new.example";

/** Moves the schedules of a prefix out of an installation, and leaves the move open. Returns their number. */
export async function moveAway({ as, queue, log }: Carillon, prefix: string): Promise<number> {
  const { id } = await beginMove(as.api, { prefix, peer, caller });
  const source = sourceSteps({ sql: as.api, queue, log, accept }, id, caller);
  const { ids } = await source.freeze({ after: "", limit: 100 });
  const { taken } = await source.take(ids);
  await source.confirm((await source.parts()).map((part) => movedPartShape.parse(part)));
  return taken;
}
