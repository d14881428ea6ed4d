import { type EditDeps, tryEdit } from "../edit/edit-transaction.ts";
import { patchSteps } from "../edit/schedule-edits.ts";
import type { Count } from "../history/search-page.ts";
import { countSchedules, findMatching } from "../history/search-schedules.ts";
import { Refusal } from "../refusal.ts";
import { movedOutOf, type WithMovedOut } from "../schedule/moved-out.ts";
import { type BulkAction, foundSchedules, refusalText, refusePast } from "./bulk-operations.ts";

/** One of the schedules that a bulk action would change. */
export interface BulkSample {
  key: string;
  /** For a patch: the next occurrences now, and with the patch. */
  changes?: { before: Date[]; after: Date[] };
  /** Why the patch would be refused. */
  refused?: string;
}

export interface BulkPreview extends Count, WithMovedOut {
  samples: BulkSample[];
  /** For a pause and a resume: how many of them are paused, by any hold. */
  paused?: Count;
}

const samplesMax = 10;
/** A sample of a patch costs as much as the patch of one schedule. */
const patchedMax = 5;
/** How many pages are searched for the first samples, if few schedules match. */
const pagesMax = 3;

/** Counts the schedules that match, and tries a patch on the first of them. */
export async function previewMany(deps: EditDeps, action: BulkAction): Promise<BulkPreview> {
  const { filter, change } = action;
  await refusePast(deps.sql, change);
  const counted = await countSchedules(deps.sql, filter);
  const keys = await firstKeys(deps, action, change.verb === "patch" ? patchedMax : samplesMax);
  const samples: BulkSample[] = [];
  for (const key of keys)
    samples.push(change.verb === "patch" ? await patchedSample(deps, action, key) : { key });
  const paused = await pausedOf(deps, action, counted);
  return { ...counted, samples, ...paused, ...(await movedOutOf(deps.sql, filter)) };
}

async function pausedOf(
  { sql }: EditDeps,
  { filter, change: { verb } }: BulkAction,
  counted: Count,
): Promise<{ paused?: Count }> {
  if (verb !== "pause" && verb !== "resume") return {};
  if (filter.state === "paused") return { paused: counted };
  if (filter.state !== undefined) return { paused: { count: 0, more: false } };
  return { paused: await countSchedules(sql, { ...filter, state: "paused" }) };
}

async function firstKeys({ sql }: EditDeps, { filter }: BulkAction, limit: number): Promise<string[]> {
  let after: string | undefined;
  for (let page = 0; page < pagesMax; page++) {
    const { items, next } = await findMatching(sql, { ...filter, after, limit });
    const found = await foundSchedules(sql, items);
    if (found.length > 0 || next === undefined) return found.map(({ key }) => key).sort();
    after = next;
  }
  return [];
}

async function patchedSample(
  deps: EditDeps,
  { change, caller }: BulkAction,
  key: string,
): Promise<BulkSample> {
  if (change.verb !== "patch") return { key };
  const { patch, accept } = change;
  try {
    const { changes } = await tryEdit(deps, { key, caller }, patchSteps({ patch, caller }, accept));
    return { key, changes };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { key, refused: refusalText(error) };
  }
}
