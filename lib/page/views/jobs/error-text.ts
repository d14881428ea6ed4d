import { useState } from "react";
import type { JobGroup, JobSummary } from "../../../client/job.ts";

interface ErrorTextOptions {
  /** The dead jobs of the chosen groups; undefined until they are known, and where other jobs are listed. */
  groups: readonly JobGroup[] | undefined;
  /** The listed jobs; undefined until they are known. */
  jobs: readonly JobSummary[] | undefined;
}

/** The error of the chosen groups in words. It stays once none of their jobs is dead any more. */
export function useErrorText(
  chosen: string | undefined,
  { groups = [], jobs }: ErrorTextOptions,
): string | undefined {
  const [kept, setKept] = useState<{ chosen: string; text: string }>();
  if (chosen === undefined) return undefined;
  const known = groups.map(({ error }) => error ?? "no error").join("; ");
  if (known !== "") {
    if (kept?.chosen !== chosen || kept.text !== known) setKept({ chosen, text: known });
    return known;
  }
  if (kept?.chosen === chosen) return kept.text;
  if (jobs === undefined) return "…";
  return jobs.find(({ error }) => error !== null)?.error ?? "that no listed job has";
}
