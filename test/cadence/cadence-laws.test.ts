import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  isRun,
  nextAfter,
  nextRunAfter,
  previousBefore,
  previousRunBefore,
} from "../../lib/cadence/cadence.ts";
import type { Cadence } from "../../lib/cadence/cadence-kinds.ts";
import { countWithin } from "../../lib/cadence/count-within.ts";
import { arbitraryPlaced } from "./arbitrary-cadence.ts";
import { occurrencesOf } from "./cadence-oracle.ts";

const HOUR = 3_600_000;

function forward(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  for (let at = nextAfter(cadence, from); at !== null && at <= upTo; at = nextAfter(cadence, at)) {
    found.push(at);
  }
  return found;
}

function backward(cadence: Cadence, from: number, upTo: number): number[] {
  const found: number[] = [];
  for (
    let at = previousBefore(cadence, upTo + 1);
    at !== null && at > from;
    at = previousBefore(cadence, at)
  ) {
    found.push(at);
  }
  return found.reverse();
}

describe("every kind of cadence, with every rule for clock changes", () => {
  test("a cadence of any kind has exactly the occurrences that a check of every minute finds, forwards, backwards and counted", () => {
    fc.assert(
      fc.property(arbitraryPlaced(), ({ cadence, at }) => {
        const upTo = at + 36 * HOUR;
        const walked = occurrencesOf(cadence, at, upTo);
        expect(forward(cadence, at, upTo)).toEqual(walked);
        expect(backward(cadence, at, upTo)).toEqual(walked);
        expect(countWithin(cadence, at, upTo)).toEqual({ count: walked.length, more: false });
        const fewer = Math.max(0, walked.length - 1);
        expect(countWithin(cadence, at, upTo, fewer)).toEqual({ count: fewer, more: walked.length > 0 });
      }),
      { numRuns: 300 },
    );
  });

  test("the next occurrence of a cadence is later, on a whole minute, and the same from every instant before it, and previous is the inverse of next", () => {
    fc.assert(
      fc.property(
        arbitraryPlaced(),
        fc.double({ min: 0, max: 1, noNaN: true, maxExcluded: true }),
        ({ cadence, at }, share) => {
          const next = nextAfter(cadence, at);
          if (next === null) {
            expect(previousBefore(cadence, at + 50 * 366 * 24 * HOUR) ?? at).toBeLessThanOrEqual(at);
            return;
          }
          expect(next).toBeGreaterThan(at);
          expect(next % 60_000).toBe(0);
          const later = at + Math.floor((next - at) * share);
          expect(nextAfter(cadence, later)).toBe(next);
          const previous = previousBefore(cadence, next);
          if (previous === null) return;
          expect(previous).toBeLessThanOrEqual(at);
          expect(nextAfter(cadence, previous)).toBe(next);
          expect(
            previousBefore(cadence, Math.max(previous + 1, at - Math.floor((at - previous) * share))),
          ).toBe(previous);
        },
      ),
      { numRuns: 5_000 },
    );
  });

  test("a search has the same result whatever was searched for before", () => {
    fc.assert(
      fc.property(
        arbitraryPlaced(),
        fc.array(arbitraryPlaced(), { maxLength: 5 }),
        ({ cadence, at }, others) => {
          const fresh = nextAfter(cadence, at);
          for (const other of others) previousBefore(other.cadence, other.at);
          expect(nextAfter(structuredClone(cadence), at)).toBe(fresh);
        },
      ),
    );
  });

  test("a cadence without a calendar that skips runs at each of its occurrences", () => {
    fc.assert(
      fc.property(arbitraryPlaced(), ({ cadence, at }) => {
        const next = nextAfter(cadence, at);
        expect(nextRunAfter(cadence, at)).toBe(next);
        expect(previousRunBefore(cadence, at)).toBe(previousBefore(cadence, at));
        if (next !== null) expect(isRun(cadence, next)).toBe(true);
      }),
    );
  });
});
