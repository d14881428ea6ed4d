import * as z from "zod";
import type { Forecast } from "../../stats/forecast.ts";

const number = z.int().min(0);
const instant = z.iso.datetime();

const minute = z.strictObject({ at: instant, fires: number });

const contribution = z.strictObject({
  name: z.string().nullable().describe("Null for keys without a colon, or schedules without tags."),
  fires: number,
});

const part = z.strictObject({
  kind: z
    .enum(["cron", "interval", "once", "release", "made"])
    .describe(
      "`release`: the end of holds, one fire for each schedule. `made`: jobs that exist already, with retries and jobs fired by hand.",
    ),
  when: z
    .string()
    .nullable()
    .describe("Null too for intervals among more than 20,000 plan rows that fire once in this time."),
  timezone: z.string().nullable(),
  owner: z.string().nullable().describe("For a release: the owner of the holds that end."),
  fires: number,
});

export const forecastAnswer = z.strictObject({
  asOf: instant,
  minutes: z.array(
    z.strictObject({
      at: instant,
      fires: number,
      beyond: z.boolean().describe("More fires than the workers have settled in any minute of the last day."),
    }),
  ),
  total: number,
  heaviest: z.array(
    z.strictObject({
      at: instant,
      fires: number,
      beyond: z.boolean(),
      most: z.array(part).describe("The largest parts."),
      other: number.describe("The fires of all other parts."),
      by: z.array(contribution).describe("The largest contributors; empty without the parameter `by`."),
    }),
  ),
  by: z
    .array(
      z.strictObject({
        ...contribution.shape,
        perMinute: number
          .nullable()
          .describe(
            "For a target with limits: the jobs of a minute that its rate allows, or its concurrency with the measured time of a job.",
          ),
      }),
    )
    .describe("The largest contributors of the whole time; empty without the parameter `by`."),
  suggestion: z.strictObject({
    peak: number.describe("Fires in the heaviest minute."),
    average: number,
    withSpread: z
      .array(z.strictObject({ spread: z.string(), peak: number }))
      .describe("The heaviest minute if all schedules that fire at their exact occurrence had this spread."),
    text: z.string(),
  }),
  spread: z
    .strictObject({ spread: z.string(), peak: number, minutes: z.array(minute) })
    .nullable()
    .describe("The curve with the requested `spread`; null without the parameter."),
  capacity: z
    .strictObject({ perMinute: number, at: instant })
    .nullable()
    .describe(
      "The most jobs that were settled in a minute of the last day. The workers may be able to do more. Null if none was.",
    ),
  exact: z
    .boolean()
    .describe(
      "False if numbers are estimates: beyond 20,000 plan rows, from a sample of some thousand schedules; with more than 10,000 jobs made already; or if all rules together run more than half a million times.",
    ),
});

export function forecastView(forecast: Forecast): z.input<typeof forecastAnswer> {
  const { asOf, minutes, heaviest, spread, capacity, ...rest } = forecast;
  const limit = capacity?.perMinute ?? Number.POSITIVE_INFINITY;
  return {
    ...rest,
    asOf: asOf.toISOString(),
    minutes: minutes.map(({ at, fires }) => ({ at: at.toISOString(), fires, beyond: fires > limit })),
    heaviest: heaviest.map((each) => ({
      ...each,
      at: each.at.toISOString(),
      beyond: each.fires > limit,
    })),
    spread:
      spread === null
        ? null
        : { ...spread, minutes: spread.minutes.map(({ at, fires }) => ({ at: at.toISOString(), fires })) },
    capacity: capacity === null ? null : { perMinute: capacity.perMinute, at: capacity.at.toISOString() },
  };
}

export const forecastExample: z.input<typeof forecastAnswer> = {
  asOf: "2026-12-01T08:59:12.345Z",
  minutes: [
    { at: "2026-12-01T08:59:00.000Z", fires: 950, beyond: false },
    { at: "2026-12-01T09:00:00.000Z", fires: 42_000, beyond: true },
  ],
  total: 42_950,
  heaviest: [
    {
      at: "2026-12-01T09:00:00.000Z",
      fires: 42_000,
      beyond: true,
      most: [
        { kind: "cron", when: "0 9 * * *", timezone: "Europe/Berlin", owner: null, fires: 38_000 },
        { kind: "release", when: null, timezone: null, owner: "ops", fires: 2_000 },
      ],
      other: 2_000,
      by: [{ name: "crm:", fires: 30_000 }],
    },
  ],
  by: [{ name: "crm:", fires: 30_500, perMinute: null }],
  suggestion: {
    peak: 42_000,
    average: 21_475,
    withSpread: [{ spread: "15m", peak: 5_600 }],
    text: "The heaviest minute has 42,000 runs, an average minute 21,475. A spread of 15m on schedules that run together would lower it to 5,600.",
  },
  spread: {
    spread: "10m",
    peak: 6_000,
    minutes: [
      { at: "2026-12-01T08:59:00.000Z", fires: 950 },
      { at: "2026-12-01T09:00:00.000Z", fires: 6_000 },
    ],
  },
  capacity: { perMinute: 36_000, at: "2026-12-01T07:00:00.000Z" },
  exact: true,
};
