import { z } from "zod";
import { npm } from "./npm.ts";

const advisory = z.object({
  title: z.string(),
  url: z.string().default(""),
  severity: z.string(),
  range: z.string(),
});

const report = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    // A package that only depends on a vulnerable one names that one.
    z.object({ via: z.array(z.union([z.string(), advisory])) }),
  ),
});

/** The answer of the registry; `skipped` is the reason why there is none. */
export type Advisories = { faults: string[] } | { skipped: string };

/**
 * Asks the registry for the advisories of all locked packages. A registry that does not answer, or has
 * no advisories, is no fault of the packages.
 */
export async function advisories(folder: string): Promise<Advisories> {
  const patience = ["--fetch-retries=0", "--fetch-timeout=30000"];
  const { output, errors } = await npm(folder, ["audit", "--package-lock-only", "--json", ...patience]);
  const answer = report.safeParse(parsed(output));
  if (!answer.success) return { skipped: reasonIn(output, errors) };
  return {
    faults: Object.entries(answer.data.vulnerabilities).flatMap(([name, { via }]) =>
      via
        .filter((each) => typeof each !== "string")
        .map(({ range, severity, title, url }) => `${name} ${range}: ${severity}: ${title} ${url}`.trimEnd()),
    ),
  };
}

const told = z.object({ message: z.string() });
const failed = z.object({ error: z.object({ summary: z.string() }) });

function reasonIn(output: string, errors: string): string {
  const answer = parsed(output);
  const message = told.safeParse(answer).data?.message ?? failed.safeParse(answer).data?.error.summary;
  return (message || errors.trim() || output.trim()).split("\n")[0] ?? "";
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
