import type { DurationText, Instant, InstantText } from "./json.ts";

export interface ForecastParams {
  /** Default: now. */
  from?: Instant | undefined;
  /** Default: 60. */
  minutes?: number | undefined;
  /** Also compute the curve that this spread would give. */
  spread?: DurationText | undefined;
  /** Name the largest contributors by this. */
  by?: "prefix" | "tag" | "target" | "key" | undefined;
  /** Only schedules whose keys begin with this. */
  prefix?: string | undefined;
}

/** Null for keys without a colon, or schedules without tags. */
export interface Contribution {
  name: string | null;
  fires: number;
}

/** The number of fires in each of the coming minutes, without pulses. */
export interface Forecast {
  asOf: InstantText;
  /** `beyond`: more fires than the workers have settled in any minute of the last day. */
  minutes: { at: InstantText; fires: number; beyond: boolean }[];
  total: number;
  heaviest: {
    at: InstantText;
    fires: number;
    beyond: boolean;
    /** The largest parts. A release is the end of holds, with their owner. */
    most: {
      kind: "cron" | "interval" | "once" | "release" | "made";
      when: string | null;
      timezone: string | null;
      owner: string | null;
      fires: number;
    }[];
    /** The fires of all other parts. */
    other: number;
    by: Contribution[];
  }[];
  /** The largest contributors; `perMinute` is what the limits of a target allow. */
  by: (Contribution & { perMinute: number | null })[];
  suggestion: {
    peak: number;
    average: number;
    withSpread: { spread: string; peak: number }[];
    text: string;
  };
  spread: { spread: string; peak: number; minutes: { at: InstantText; fires: number }[] } | null;
  /** The most jobs that were settled in a minute of the last day. */
  capacity: { perMinute: number; at: InstantText } | null;
  exact: boolean;
}
