import { cpus, totalmem } from "node:os";

export type Options = Readonly<Record<string, string | undefined>>;
export type Say = (line: string) => void;
export type Figures = Record<string, unknown>;
export type Bench = (options: Options, say: Say) => Promise<Figures>;

export function number(options: Options, name: string, byDefault: number): number {
  const value = Number(options[name] ?? byDefault);
  if (!Number.isInteger(value) || value < 1)
    throw new Error(`--${name} takes a whole number from 1, not "${options[name]}".`);
  return value;
}

/** Figures mean nothing without the machine they were taken on. */
export function machine(): string {
  const [first] = cpus();
  return `${cpus().length} × ${first?.model.trim() ?? "unknown"}, ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}`;
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

export function perSecond(count: number, ms: number): number {
  return Math.round((count / ms) * 1_000);
}
