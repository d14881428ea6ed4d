import type { Clock } from "../clock.ts";
import type { Sql } from "../db/connect.ts";
import { errorText } from "../log/error-text.ts";
import type { Log } from "../log/log.ts";
import type { ClaimedParcel } from "../parcel/claim.ts";
import { type ClaimedJob, isOfGroup } from "../parcel/claimed-job.ts";
import { readPage } from "../parcel/heavy-payloads.ts";
import { type Deliver, type Delivery, type DeliveryContext, failed } from "../target/delivery.ts";
import { Places } from "../target/places.ts";
import { turnMs } from "../target/side-by-side.ts";

/**
 * The most bytes of heavy payloads in one page, as JSON. A list of empty objects takes sixteen
 * times that in memory once it is parsed, and its handler's copy as much again.
 */
export const pageBytes: number = 2 * 1_048_576;
/**
 * The most bytes that a handler of a whole group gets in one call. Such a parcel is never worked
 * together with others.
 */
export const groupBytes: number = 8 * 1_048_576;
/** The most pages that a worker has in memory at a time, of all its parcels. */
export const pagesMax = 4;
/** With less time left than this no page is begun: it has to be read, delivered and settled. */
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
 * Delivers a parcel's jobs, page by page if they have heavy payloads: a page is read when there is
 * room for it, and the next one when it is delivered. Jobs without a page when the time is up go
 * back to the parcel. So do the jobs of a later page that fails and those behind it, so that the
 * jobs delivered before are settled.
 */
export async function deliverInPages(
  deps: PagesDeps,
  { id, jobs }: Pick<ClaimedParcel, "id" | "jobs">,
  context: DeliveryContext,
  /**
   * Whether pages that have not begun when the parcel's turn is over go back, as jobs within a page
   * do.
   */
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
      outcomes.push(...(await deliverPage(deps.deliver, page, withOriginals(context, page, left))));
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

/**
 * Another worker may have settled the job and purged the payload: then this result is not written.
 * Handing the job back would have it claimed again at once, over and over.
 */
const missing = "Its payload is missing.";

/** The jobs of a page are copies, with their payloads: their times belong to the jobs of the parcel. */
function withOriginals(
  context: DeliveryContext,
  page: readonly ClaimedJob[],
  left: readonly ClaimedJob[],
): DeliveryContext {
  const originals = new Map(page.map((copy, index) => [copy, left[index] ?? copy]));
  return { ...context, worked: (job, ran) => context.worked?.(originals.get(job) ?? job, ran) };
}

async function deliverPage(
  deliver: Deliver,
  page: readonly ClaimedJob[],
  context: DeliveryContext,
): Promise<(Delivery | undefined)[]> {
  const there = page.filter(({ isHeavy }) => !isHeavy);
  const delivered = (await deliver(there, context)).values();
  return page.map(({ isHeavy }) => (isHeavy ? failed(missing) : delivered.next().value));
}
