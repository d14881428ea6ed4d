/** Takes the units of a request's work from the rates of its token. */
export interface Charge {
  /** Takes units for work that is about to begin; throws 429 where a rate is used up. */
  take(units: number): Promise<void>;
  /** Gives back units of work that was not needed. Units that cannot be given back stay taken. */
  giveBack(units: number): Promise<void>;
}

/** The charge where there is no limit. */
export const free: Charge = { take: async () => {}, giveBack: async () => {} };

/** A cost that depends on what a request asks for. */
export interface Counted<Asked> {
  /** The work of one unit, such as "each operation". */
  per: string;
  most: number;
  /** Another cost and its condition, such as "10 with `dryRun`". */
  or?: string;
  /**
   * The units are a reserve: an answer says how many the work needed, and a refusal needs none. The
   * others are given back.
   */
  isReserve?: boolean;
  of: (asked: Asked) => number;
}

/** The units that a request costs in all: at least the one that every request costs. */
export type Cost<Asked> = number | Counted<Asked>;

export function unitsOf<Asked>(cost: Cost<Asked>, asked: Asked): number {
  return typeof cost === "number" ? cost : Math.max(1, cost.of(asked));
}

/** Such as `5`, or `1 for each operation, at most 1,000`. */
export function costText(cost: Cost<never>): string {
  if (typeof cost === "number") return String(cost);
  const { per, most, or } = cost;
  return `1 for ${per}, at most ${most.toLocaleString("en-GB")}${or === undefined ? "" : `; ${or}`}`;
}

/** Rows of one unit, where a request reads more of them than a page of a list has. */
export const rowsOfUnit = 100;

export function rowsCost(rows: number): number {
  return Math.ceil(rows / rowsOfUnit);
}

/** The cost of a dry run, which counts and changes nothing. */
export const dryRunCost = 10;

/** The header with the units that an answer cost, of operations that may cost more than one. */
export const costHeader = "carillon-cost";
