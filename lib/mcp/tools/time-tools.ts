import * as z from "zod";
import { agendaOutcomes } from "../../client/agenda.ts";
import type { Forecast, NextOccurrences, Preview } from "../../client/main.ts";
import { counted, nameText, toldPage } from "../answer.ts";
import { instant, key, owners, paging } from "../arguments.ts";
import { readTool, type Tool } from "../tool.ts";

/** The arguments of tools that list coming runs. */
const runs = {
  n: z.int().min(1).max(50).default(10).describe("How many runs."),
  from: instant.optional().describe("Runs after this instant; default: now."),
};

const explain = readTool({
  name: "explain_run",
  title: "Explain a run",
  description:
    "Says in one sentence what became of a run, and why it ran, ran late, was held, was skipped or never happened.",
  input: z.strictObject({ key, at: instant }),
  run: async ({ key: asked, at }, { client, signal, instant: read }) => {
    const explained = await client.schedules.explain(asked, read(at, "at"), { signal });
    const { sentence, outcome, nearest, job } = explained;
    const near = [nearest.before, nearest.after].flatMap((each) => (each === null ? [] : [each.at]));
    return {
      lines: [
        sentence,
        `Outcome ${outcome}${job === undefined ? "" : `, job ${job.id}`}. Runs beside it: ${near.join(", ") || "none"}.`,
      ],
      data: explained,
    };
  },
});

const nextRuns = readTool({
  name: "next_runs",
  title: "List coming runs of a schedule",
  description: "Lists when a schedule runs next, in its zone and in UTC, and which of these runs are held.",
  input: z.strictObject({
    key,
    ...runs,
  }),
  run: async ({ key: asked, n, from }, { client, signal, instantOf }) => {
    const coming = await client.schedules.next(asked, { n, from: instantOf(from, "from") }, { signal });
    return { lines: runLines(coming), data: coming };
  },
});

const previewSchedule = readTool({
  name: "preview_schedule",
  title: "Preview a schedule that is not saved",
  description:
    "Lists when a schedule would run if it were saved now, with its cadence in words and warnings about surprises. Stores nothing.",
  input: z.strictObject({
    when: z
      .union([z.string(), z.array(z.string())])
      .describe(
        "Such as `0 9 * * 1-5`, `every 5m`, `in 3h`, `at 2026-12-01T09:00`; a list combines several.",
      ),
    timezone: z.string().optional().describe("An IANA name; default UTC."),
    startsAt: instant.optional(),
    endsAt: instant.optional(),
    maxFires: z.int().min(1).optional(),
    calendar: z.looseObject({ name: z.string() }).optional().describe("{ name, on: skip, next or previous }"),
    spread: z.string().optional().describe("A duration such as 10m."),
    slot: z.string().optional().describe("A duration such as 5m."),
    ...runs,
  }),
  run: async ({ startsAt, endsAt, from, ...given }, { client, signal, instantOf }) => {
    const body = {
      ...given,
      startsAt: instantOf(startsAt, "startsAt"),
      endsAt: instantOf(endsAt, "endsAt"),
      from: instantOf(from, "from"),
    };
    const path = ["v1", "preview"];
    const request = { method: "POST", path, body, changes: false, options: { signal } } as const;
    const preview = (await client.request<Preview>(request)).body;
    return { lines: previewLines(preview), data: preview };
  },
});

const agenda = readTool({
  name: "agenda",
  title: "List the runs of a window",
  description:
    "Lists the runs of all schedules in a window of at most 32 days, oldest first: past ones with their outcome, coming ones as planned, held or skipped.",
  input: z.strictObject({
    from: instant,
    to: instant,
    ...owners,
    outcome: z.enum(agendaOutcomes).optional(),
    timezone: z.string().optional().describe("The zone of `wall`; default UTC."),
    ...paging,
  }),
  run: async ({ from, to, ...filter }, { client, signal, instant: read }) => {
    const window = { from: read(from, "from"), to: read(to, "to") };
    return toldPage(
      await client.agenda({ ...filter, ...window, signal }).page(),
      ({ occurrence, wall, key: name, outcome, reason, job, passedOver }) => {
        const range =
          passedOver === null ? "" : ` (${passedOver.count ?? "several"} runs from ${passedOver.from})`;
        return `${occurrence} (${wall}) ${nameText(name)}: ${outcome}${reason === null ? "" : `, ${reason}`}${range}${job === null ? "" : `, job ${job}`}`;
      },
      "No run is in the window.",
    );
  },
});

const forecast = readTool({
  name: "forecast",
  title: "Forecast the load",
  description:
    "Counts the runs of the coming minutes, and names the heaviest minutes and what they consist of.",
  input: z.strictObject({
    minutes: z.int().min(1).max(1_440).default(60),
    from: instant.optional().describe("Default: now; up to 32 days ahead."),
    by: z
      .enum(["prefix", "tag", "target", "key"])
      .optional()
      .describe("Name the largest contributors by this."),
    prefix: z.string().optional().describe("Only keys that begin with it."),
  }),
  run: async ({ from, ...asked }, { client, signal, instantOf }) => {
    const found = await client.forecast({ ...asked, from: instantOf(from, "from") }, { signal });
    const { total, heaviest, suggestion, exact } = found;
    return {
      lines: [
        `${counted(total, "run")} in ${asked.minutes} minutes${exact ? "" : " (estimated)"}.`,
        ...heaviest.map(({ at, fires }) => `Heavy minute: ${at} with ${counted(fires, "run")}.`),
        suggestion.text,
      ],
      data: byHours(found),
    };
  },
});

export const timeTools: readonly Tool[] = [explain, nextRuns, previewSchedule, agenda, forecast];

export function runLines({ details }: Pick<NextOccurrences, "details">): string[] {
  if (details.length === 0) return ["It does not run any more."];
  return details.map(
    ({ at, wall, due, note, held }) =>
      `${at} (${wall})${due === undefined ? "" : `, due ${due}`}${held === true ? ", held" : ""}${note === null ? "" : `, ${note}`}`,
  );
}

export function previewLines(preview: Preview): string[] {
  const { cadenceText, warnings } = preview;
  return [cadenceText, ...runLines(preview), ...warnings.map((warning) => `Warning: ${warning}`)];
}

/** A day has 1,440 minutes: more than an hour is summed up by hours. */
function byHours(found: Forecast): object {
  if (found.minutes.length <= 60) return found;
  const { minutes, ...others } = found;
  const hours = Map.groupBy(minutes.entries(), ([at]) => Math.floor(at / 60));
  const perHour = [...hours.values()].map((each) => ({
    at: each[0]?.[1].at,
    fires: each.reduce((sum, [, { fires }]) => sum + fires, 0),
  }));
  return { ...others, perHour };
}
