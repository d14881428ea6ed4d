import type { Tx } from "../db/connect.ts";
import type { OutgoingParcel } from "../parcel/parcel-queue.ts";
import type { Maker } from "../plan/make-later.ts";
import { writeHoldsOfEach } from "../schedule/holds.ts";
import { type DecidedEdit, divideEdits } from "./divide-edits.ts";
import { applyPlainEdits } from "./plain-edits.ts";
import { applyPlainChanges, type PlainChange, plainChangeOf } from "./plain-holds.ts";

interface PlainHold {
  decided: DecidedEdit;
  kind: "paused" | "resumed";
  change: PlainChange;
}

/**
 * Applies the edits that can be done together in a few statements. The others must be done one by
 * one.
 */
export async function changeTogether(
  tx: Tx,
  edits: readonly DecidedEdit[],
  { together }: Pick<Maker, "together">,
): Promise<ChangedTogether> {
  if (together === null) return { parcels: [], others: [...edits] };
  return together(() => changePlain(tx, edits));
}

interface ChangedTogether {
  parcels: OutgoingParcel[];
  others: DecidedEdit[];
}

async function changePlain(tx: Tx, edits: readonly DecidedEdit[]): Promise<ChangedTogether> {
  const { plain, others } = await divideEdits(tx, edits);
  const holds = others.flatMap((decided) => plainHoldOf(decided) ?? []);
  const together = new Set(holds.map(({ decided }) => decided));
  const parcels = [...(await applyPlainEdits(tx, plain)), ...(await applyPlainHolds(tx, holds))];
  return { parcels, others: others.filter((each) => !together.has(each)) };
}

function plainHoldOf(decided: DecidedEdit): PlainHold | null {
  const { current, state, edit, holdsAfter } = decided;
  const kind = edit.change;
  if ((kind !== "paused" && kind !== "resumed") || edit.spec !== undefined) return null;
  const change = plainChangeOf(current, holdsAfter, state);
  return change === null ? null : { decided, kind, change };
}

/** Holds with the same parameters are written together. Nearly always that is all of them. */
async function applyPlainHolds(tx: Tx, holds: readonly PlainHold[]): Promise<OutgoingParcel[]> {
  await writeHoldsOfEach(
    tx,
    holds.map(({ decided: { current, edit } }) => ({ scheduleId: current.id, holds: edit.holds ?? {} })),
  );
  const parcels: OutgoingParcel[] = [];
  const asked = ({ decided: { edit, caller }, kind }: PlainHold) =>
    JSON.stringify([kind, edit.detail ?? null, caller]);
  for (const same of Map.groupBy(holds, asked).values()) {
    const [first] = same;
    if (first === undefined) continue;
    const { edit, caller } = first.decided;
    const words = { detail: edit.detail ?? null, author: caller };
    const changes = same.map(({ change }) => change);
    parcels.push(...(await applyPlainChanges(tx, changes, words, first.kind)));
  }
  return parcels;
}
