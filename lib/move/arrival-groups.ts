import { type FirstPart, isFirst } from "./decide-arrivals.ts";
import type { MovedPart } from "./moved-doc.ts";

/** The most of one transaction: ticks of its shards wait meanwhile. */
const most = { schedules: 100, bytes: 1_000_000, jobs: 500 };

/** First parts that arrive together, or a further part of a schedule. */
export type ArrivalGroup = { together: readonly FirstPart[] } | { later: MovedPart };

/**
 * Divides parts, in their order, into groups that each arrive in one transaction. A group has each
 * schedule and each key once.
 */
export function arrivalGroups(parts: readonly MovedPart[]): ArrivalGroup[] {
  const groups: ArrivalGroup[] = [];
  let open: OpenGroup | null = null;
  for (const part of parts) {
    if (!isFirst(part)) {
      groups.push({ later: part });
      open = null;
    } else if (open === null || !open.add(part)) {
      open = new OpenGroup(part);
      groups.push({ together: open.parts });
    }
  }
  return groups;
}

class OpenGroup {
  readonly parts: FirstPart[] = [];
  readonly #names = new Set<string>();
  #bytes = 0;
  #jobs = 0;

  constructor(first: FirstPart) {
    this.#take(first, bytesOf(first));
  }

  /** False if the part does not fit. */
  add(part: FirstPart): boolean {
    const bytes = bytesOf(part);
    const fits =
      this.parts.length < most.schedules &&
      this.#bytes + bytes <= most.bytes &&
      this.#jobs + part.jobs.length <= most.jobs &&
      !namesOf(part).some((name) => this.#names.has(name));
    if (fits) this.#take(part, bytes);
    return fits;
  }

  #take(part: FirstPart, bytes: number): void {
    this.parts.push(part);
    for (const name of namesOf(part)) this.#names.add(name);
    this.#bytes += bytes;
    this.#jobs += part.jobs.length;
  }
}

const bytesOf = (part: MovedPart) => Buffer.byteLength(JSON.stringify(part));
const namesOf = ({ id, schedule: { key } }: FirstPart) => [`id ${id}`, `key ${key}`];
