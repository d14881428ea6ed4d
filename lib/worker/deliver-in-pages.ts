import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import type { ClaimedJob } from "../parcel/claimed-job.ts";
import { readPage } from "../parcel/heavy-payloads.ts";
import { type Deliver, type Delivery, type DeliveryContext, failed } from "../target/delivery.ts";
import { Places } from "../target/places.ts";
import { turnMs } from "../target/side-by-side.ts";

/** The most bytes of heavy payloads in one page, as JSON. A list of empty objects takes sixteen times that once it is read, and its handler's copy as much again. */
export const pageBytes: number = 2 * 1_048_576;
/** The most bytes that a handler of a whole group gets in one call. No other parcel is worked together with such a parcel. */
export const groupBytes: number = 8 * 1_048_576;
/** The pages that a worker has in memory at a time, of all its parcels. */
export const pagesMax = 4;
/** With less time left than this no page is begun: it is to be read, delivered and settled. */
const pageMinMs = 5_000;

/** The room that a worker has for pages. */
export const pageRoom = (): Places => new Places(pagesMax);

interface PagesDeps {
  sql: Sql;
  deliver: Deliver;
  clock: Clock;
  log: Log;
  room?: Places | undefined;
}

const back: Delivery = { kind: "back" };

/**
 * Delivers a parcel's jobs, page by page where they have heavy payloads: a page is read when there is room for it, and the next one when it
 * is delivered. Jobs without a page when the time is up go back to the parcel. So do the jobs of a later page that fails and those behind
 * it, so that the jobs delivered before are settled.
 */
export async function deliverInPages(
  deps: PagesDeps,
  { id, jobs }: Pick<ClaimedParcel, "id" | "jobs">,
  context: DeliveryContext,
  /** Whether what has not begun when the parcel's turn is over goes back, as it does within a page. */
  hasTurn: boolean,
): Promise<(Delivery | undefined)[]> {
  if (!jobs.some(({ isHeavy }) => isHeavy)) return deps.deliver(jobs, context);
  const room = deps.room ?? pageRoom();
  const turnEnds = deps.clock.now().getTime() + turnMs;
  const bytes = jobs.some(isOfGroup) ? groupBytes : pageBytes;
  const outcomes: (Delivery | undefined)[] = [];
  const isOver = () =>
    context.timeLeftMs() < pageMinMs ||
    (hasTurn && outcomes.length > 0 && deps.clock.now().getTime() >= turnEnds);
  for (let left = jobs; left.length > 0; left = jobs.slice(outcomes.length)) {
    const taken = room.take();
    if (taken !== true && !(await taken)) break;
    try {
      if (isOver()) break;
      const page = await readPage(deps.sql, left, bytes);
      outcomes.push(...(await deliverPage(deps.deliver, page, context)));
    } catch (error) {
      if (outcomes.length === 0) throw error;
      deps.log.warn("worker.pages-left", { parcel: id, error: errorText(error) });
      break;
    } finally {
      room.giveBack();
    }
  }
  return jobs.map((_, index) => (index < outcomes.length ? outcomes[index] : back));
}

const isOfGroup = ({ lane }: ClaimedJob): boolean => lane?.startsWith("grouped/") === true;

/** Others may have settled it and purged it: then this is not written. Handed back it would be claimed again at once, and so on. */
const missing = "Its payload is not there.";

async function deliverPage(
  deliver: Deliver,
  page: readonly ClaimedJob[],
  context: DeliveryContext,
): Promise<(Delivery | undefined)[]> {
  const there = page.filter(({ isHeavy }) => !isHeavy);
  const delivered = (await deliver(there, context)).values();
  return page.map(({ isHeavy }) => (isHeavy ? failed(missing) : delivered.next().value));
}
