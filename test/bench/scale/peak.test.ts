import { expect, test } from "vitest";
import { type Peak, playPeak } from "./peak.ts";

const job = { serialMs: 0.02, databaseMs: 0.01, walBytes: 500 };
const roomy: Peak = {
  due: [],
  fire: job,
  drain: job,
  server: { cores: 64, usable: 1, walBytesPerSecond: 1e12 },
  ticks: 16,
  workers: 1,
  horizon: 180,
  tickAt: 0,
};

/** A burst that is due at one second, a while after its jobs can be made. */
function burst(count: number): number[] {
  return Array.from({ length: 120 }, (_, second) => (second === 100 ? count : 0));
}

test("a burst is worked at the workers' rate: the last job waits N / rate, the median one half of that", () => {
  // One worker does 1,000 ms / 0.02 ms = 50,000 a second.
  const { done, left, lateness, boundBy } = playPeak({ ...roomy, due: burst(1_000_000) });
  expect(done).toBeCloseTo(1_000_000, 3);
  expect(left).toBeCloseTo(0, 3);
  expect(lateness.max).toBeGreaterThan(19);
  expect(lateness.max).toBeLessThanOrEqual(20);
  expect(lateness.p50).toBeGreaterThan(9);
  expect(lateness.p50).toBeLessThan(11);
  expect(boundBy).toBe("workers");
});

test("twice the workers halve a burst's time, until the database is the limit", () => {
  const two = playPeak({ ...roomy, workers: 2, due: burst(1_000_000) });
  expect(two.lateness.max).toBeGreaterThan(9);
  expect(two.lateness.max).toBeLessThanOrEqual(10);
  // One core at 0.01 ms a job: 100,000 a second, whatever the number of workers.
  const small = { cores: 1, usable: 1, walBytesPerSecond: 1e12 };
  const bound = playPeak({ ...roomy, workers: 50, server: small, due: burst(1_000_000) });
  expect(bound.lateness.max).toBeGreaterThan(9);
  expect(bound.lateness.max).toBeLessThanOrEqual(10.5);
  expect(bound.boundBy).toBe("database");
});

test("the WAL of the database limits a burst as its cores do", () => {
  const slowLog = { cores: 64, usable: 1, walBytesPerSecond: 10_000 * 500 };
  const { lateness, boundBy, walPerSecond } = playPeak({
    ...roomy,
    workers: 50,
    server: slowLog,
    due: burst(100_000),
  });
  expect(boundBy).toBe("wal");
  expect(walPerSecond).toBeLessThanOrEqual(10_000 * 500 * 1.001);
  expect(lateness.max).toBeGreaterThan(9);
  expect(lateness.max).toBeLessThan(11);
});

test("a steady rate below the capacity is late by less than a second", () => {
  // The first tick has a minute to make the first due jobs.
  const due = Array.from({ length: 660 }, (_, second) => (second < 60 ? 0 : 40_000));
  const { lateness, left } = playPeak({ ...roomy, due, workers: 1 });
  expect(lateness.max).toBeLessThan(1);
  expect(left).toBeCloseTo(0, 3);
});

test("a steady rate above the capacity becomes later each second, by the excess", () => {
  // 60,000 arrive and 50,000 are done each second: after ten minutes 6 million wait, which is 120 s
  // at 50,000 a second.
  const due = Array.from({ length: 600 }, () => 60_000);
  const { lateness } = playPeak({ ...roomy, due, workers: 1 });
  expect(lateness.max).toBeGreaterThan(115);
  expect(lateness.max).toBeLessThan(125);
});

test("a tick that cannot make the jobs in time makes them late, and is reported as the limit", () => {
  // One tick makes 50,000 a second from second 0 on: ten million take 200 s, and are due at 100.
  const { lateness, boundBy } = playPeak({ ...roomy, ticks: 1, workers: 64, due: burst(10_000_000) });
  expect(lateness.max).toBeGreaterThan(95);
  expect(lateness.max).toBeLessThan(105);
  expect(boundBy).toBe("making");
});

test("the same jobs spread over a minute are on time", () => {
  const spread = Array.from({ length: 200 }, (_, second) => (second >= 100 && second < 160 ? 40_000 : 0));
  const { done, lateness } = playPeak({ ...roomy, due: spread });
  expect(done).toBeCloseTo(2_400_000, 2);
  expect(lateness.p99).toBeLessThan(1);
});
