import { type JobCost, playPeak } from "./peak.ts";

/** The milliseconds of one step of the simulation, which otherwise is a second. */
const stepMs = 10;

/** The simulated milliseconds of one tick that makes this many jobs, all due at once. */
export function foretoldMs(fire: JobCost, jobs: number): number {
  const slower = 1_000 / stepMs;
  const { lateness } = playPeak({
    due: [jobs],
    fire: { ...fire, serialMs: fire.serialMs * slower, databaseMs: fire.databaseMs * slower },
    // The delivery after making is not simulated.
    drain: { serialMs: 1e-9, databaseMs: 0, walBytes: 0 },
    server: { cores: 1, usable: 1, walBytesPerSecond: Number.POSITIVE_INFINITY },
    ticks: 1,
    workers: 1,
    horizon: 1,
    tickAt: 0,
  });
  return Math.round(lateness.max * stepMs);
}
