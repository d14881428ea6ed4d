import * as z from "zod";
import { problemKinds } from "../../problems/problem.ts";
import type { Problems } from "../../problems/read-problems.ts";
import { instantText } from "./instant-text.ts";

export const problemsAnswer = z.strictObject({
  asOf: instantText,
  verdict: z
    .enum(["on-time", "late", "stopped"])
    .describe(
      "`late`: jobs have waited for a minute or longer although their target has room, missed occurrences wait for jobs that do not end, or the plan is behind. `stopped`: no tick has ended for 150 seconds, or jobs are late and no worker has claimed or settled one for two minutes.",
    ),
  text: z.string().describe("The verdict in a sentence."),
  problems: z.array(
    z.strictObject({
      kind: z.enum(problemKinds),
      since: instantText.nullable().describe("When it began; null where that is not known."),
      count: z.strictObject({
        count: z.int().min(0),
        more: z.boolean().describe("True where counting stopped at the limit."),
      }),
      text: z.string(),
      sample: z.string().nullable().describe("One of the counted jobs, commands, rows, holds or schedules."),
      see: z
        .strictObject({ path: z.string(), query: z.record(z.string(), z.string()) })
        .describe("The GET request that lists what was counted."),
      command: z.string().describe("The CLI command for it."),
    }),
  ),
});

export const problemsExample: z.input<typeof problemsAnswer> = {
  asOf: "2026-12-01T09:00:12.345Z",
  verdict: "on-time",
  text: "On time.",
  problems: [
    {
      kind: "dead-jobs",
      since: "2026-12-01T03:12:08.000Z",
      count: { count: 17, more: false },
      text: "17 jobs are dead at webhook/api.example.com: no attempt is left.",
      sample: "4711-1764558728000-c0",
      see: { path: "/v1/jobs", query: { state: "dead", target: "webhook/api.example.com" } },
      command: "carillon jobs --state dead --target webhook/api.example.com",
    },
  ],
};

export function problemsView({ asOf, problems, ...rest }: Problems): z.input<typeof problemsAnswer> {
  return {
    asOf: asOf.toISOString(),
    ...rest,
    problems: problems.map(({ since, see, ...problem }) => ({
      ...problem,
      since: since?.toISOString() ?? null,
      see: { path: see.path, query: { ...see.query } },
    })),
  };
}
