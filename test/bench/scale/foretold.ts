import { type JobCost, playPeak } from "./peak.ts";

/** A step of the simulation that stands for so many milliseconds, not for a second. */
const stepMs = 10;

/** How many milliseconds one tick takes to make so many jobs that are due at once, by the simulation. */
export function foretoldMs(fire: JobCost, jobs: number): number {
  const slower = 1_000 / stepMs;
  const { lateness } = playPeak({
    due: [jobs],
    fire: { ...fire, serialMs: fire.serialMs * slower, databaseMs: fire.databaseMs * slower },
    // What comes after making is not looked at.
    drain: { serialMs: 1e-9, databaseMs: 0, walBytes: 0 },
    server: { cores: 1, usable: 1, walBytesPerSecond: Number.POSITIVE_INFINITY },
    ticks: 1,
    workers: 1,
    horizon: 1,
    tickAt: 0,
  });
  return Math.round(lateness.max * stepMs);
}
