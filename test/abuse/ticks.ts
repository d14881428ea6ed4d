import type { Clock } from "../../lib/clock.ts";
import { Answers } from "./answers.ts";
import { Caller } from "./caller.ts";

export interface TicksSeen {
  /** Full minutes that began during the attack. */
  minutes: number;
  /** How many of them had a tick of their own. */
  ticked: number;
  /** The longest time from the minute to its tick. */
  latestMs: number;
}

export interface TickWatch {
  end(): Promise<TicksSeen>;
}

const minuteMs = 60_000;
const lookEachMs = 1_000;

/** Reads when a tick last ran, each second, from the API's statistics. */
export function watchTicks(api: string, token: string, clock: Clock): TickWatch {
  const caller = new Caller(api, new Answers(), { connections: 1 });
  const ending = new AbortController();
  const seen = new Set<number>();
  const from = clock.now().getTime();
  const look = async () => {
    const stats = (await caller.json("GET", "/v1/stats", { token })) as
      | { plan: { lastTickAt: string | null } }
      | undefined;
    if (typeof stats?.plan.lastTickAt === "string") seen.add(Date.parse(stats.plan.lastTickAt));
  };
  const watching = (async () => {
    while (!ending.signal.aborted) {
      await look();
      await clock.sleep(lookEachMs, ending.signal);
    }
  })();
  return {
    end: async () => {
      const to = clock.now().getTime();
      ending.abort();
      await watching;
      // The tick of the last minute may be under way.
      const last = Math.floor(to / minuteMs) * minuteMs;
      while (last > from && Math.max(0, ...seen) < last && clock.now().getTime() < last + minuteMs) {
        await clock.sleep(lookEachMs);
        await look();
      }
      caller.close();
      return ticksIn([...seen], { from, to });
    },
  };
}

/** Compares the ticks that were seen with the minutes that began. */
export function ticksIn(seen: readonly number[], { from, to }: { from: number; to: number }): TicksSeen {
  const began: number[] = [];
  for (let minute = Math.ceil(from / minuteMs) * minuteMs; minute <= to; minute += minuteMs)
    began.push(minute);
  const late = began.flatMap((minute) => {
    const after = seen.filter((at) => at >= minute && at < minute + minuteMs);
    return after.length === 0 ? [] : [Math.min(...after) - minute];
  });
  return { minutes: began.length, ticked: late.length, latestMs: Math.max(0, ...late) };
}
