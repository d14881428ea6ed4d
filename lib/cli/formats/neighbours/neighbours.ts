import { isObject } from "../found.ts";
import type { SourceFile } from "../source-files.ts";
import { kubernetes } from "./kubernetes.ts";
import { type Neighbour, valuesIn } from "./neighbour.ts";
import { pgBoss } from "./pg-boss.ts";
import { sidekiq } from "./sidekiq.ts";
import { solidQueue } from "./solid-queue.ts";
import { temporal } from "./temporal.ts";
import { isOfVercel } from "./vercel.ts";

/** Other schedulers whose jobs go to the target of --target. */
export const neighbours = {
  kubernetes,
  "pg-boss": pgBoss,
  sidekiq,
  "solid-queue": solidQueue,
  temporal,
} as const satisfies Record<string, Neighbour>;

export const neighbourForms = ["kubernetes", "pg-boss", "sidekiq", "solid-queue", "temporal"] as const;

type NeighbourForm = (typeof neighbourForms)[number];

/** The scheduler whose format one of the files has; null for none. */
export function neighbourOf(files: readonly SourceFile[]): NeighbourForm | "vercel" | null {
  const documents = files.flatMap(readable).filter((each) => !isOwn(each));
  if (documents.some(isOfVercel)) return "vercel";
  return neighbourForms.find((form) => documents.some((each) => neighbours[form].isOf(each))) ?? null;
}

/** A schedule of Carillon may have a payload that reads like a job of another scheduler. */
function isOwn(document: unknown): boolean {
  return isObject(document) && ("when" in document || "target" in document);
}

/** A file that cannot be read has none here; the reading of its form reports the fault. */
function readable(file: SourceFile): unknown[] {
  try {
    return valuesIn(file);
  } catch {
    return [];
  }
}
