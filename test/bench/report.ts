import { cpus, totalmem } from "node:os";

/** The options with their defaults filled in; only `data-dir` may be missing. */
export type Options = Readonly<Record<string, string | undefined>>;
export type Say = (line: string) => void;
export type Figures = Record<string, unknown>;

/** The exports of a bench's file. */
export interface BenchModule {
  /** One line for the help. */
  does: string;
  /** Its options with their defaults. */
  options: Readonly<Record<string, string>>;
  bench(options: Options, say: Say): Promise<Figures>;
  /**
   * Its section of docs/benchmarks.md, in Markdown without the heading; pictures go to
   * docs/benchmarks/.
   */
  page?(figures: Figures): string | Promise<string>;
  /** The page with the section, if not docs/benchmarks.md. */
  pageFile?: string;
}

export function number(options: Options, name: string): number {
  const value = Number(options[name]);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} takes a whole number from 1, not "${options[name]}".`);
  return value;
}

export function numbers(options: Options, name: string): number[] {
  return (options[name] ?? "").split(",").map((each) => number({ [name]: each }, name));
}

/** The machine, without which figures mean nothing. */
export function machine(): string {
  const [first] = cpus();
  return `${cpus().length} × ${first?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}

/**
 * For an even number of values, the mean of the two middle ones: the median of two is not the
 * better of both.
 */
export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const [lower = Number.NaN, upper = Number.NaN] = [
    sorted[Math.floor((sorted.length - 1) / 2)],
    sorted[Math.floor(sorted.length / 2)],
  ];
  const between = (lower + upper) / 2;
  return Number.isInteger(lower) && Number.isInteger(upper) ? Math.round(between) : between;
}

export function perSecond(count: number, ms: number): number {
  return Math.round((count / ms) * 1_000);
}
