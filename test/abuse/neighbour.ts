import type { Clock } from "../../lib/clock.ts";
import { Answers } from "./answers.ts";
import { Caller } from "./caller.ts";

/** The answers and fires of another team during one attack. */
export interface Seen {
  requests: number;
  p50Ms: number;
  p99Ms: number;
  /** Fires that were due during the attack. */
  fires: number;
  /** The greatest lateness among them. */
  latestMs: number;
  faults: readonly string[];
}

export interface Neighbour {
  /** Ends the probes, waits for the last fires, and says what was seen. */
  end(): Promise<Seen>;
}

const key = "neighbour:heartbeat";
const path = `/v1/schedules/${key}`;
const probeEachMs = 250;
const firesEverySeconds = 5;
const lookAgainMs = 500;
/** A fire that is later than this has missed its minute. */
export const lateMs = 60_000;

interface NeighbourParts {
  api: string;
  token: string;
  clock: Clock;
  /** Probes before the neighbour may end, however short the attack is. */
  probesAtLeast: number;
}

/** Reads and writes its schedule four times a second, and lists its fires at the end. */
export async function startNeighbour(parts: NeighbourParts): Promise<Neighbour> {
  const { api, token, clock, probesAtLeast } = parts;
  const answers = new Answers();
  const caller = new Caller(api, answers, { connections: 4 });
  const took: number[] = [];
  const ending = new AbortController();
  const probe = async (index: number) => {
    const sentAt = clock.now().getTime();
    const answer = await (index % 4 === 0
      ? caller.send({ method: "PUT", path, token, body: bodyOf(index) })
      : caller.send({ method: "GET", path, token }));
    took.push(clock.now().getTime() - sentAt);
    if (answer !== undefined && answer.status >= 400 && answer.status !== 503)
      answers.fault(`the neighbour's request was answered ${answer.status}: ${answer.text}`);
  };
  await probe(0);
  const from = clock.now();
  const probing = (async () => {
    for (let index = 1; index < probesAtLeast || !ending.signal.aborted; index++) {
      await probe(index);
      await clock.sleep(probeEachMs, ending.signal);
    }
  })();
  return {
    end: async () => {
      ending.abort();
      await probing;
      const fires = await firesBetween(caller, parts, { from, to: clock.now() });
      caller.close();
      const sorted = took.toSorted((a, b) => a - b);
      return {
        requests: answers.count,
        p50Ms: quantile(sorted, 0.5),
        p99Ms: quantile(sorted, 0.99),
        ...fires,
        faults: [...answers.faults, ...fires.faults],
      };
    },
  };
}

const bodyOf = (index: number) =>
  JSON.stringify({
    when: `every ${firesEverySeconds}s`,
    target: { queue: "neighbour" },
    description: `probe ${index % 8}`,
  });

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

interface Listed {
  items: { id: string; state: string; dueAt: string; latenessMs: number | null }[];
  cursor: string | null;
}

const openStates: ReadonlySet<string> = new Set(["waiting", "running", "retrying"]);

/** Waits until each fire of the window is settled, or late. */
async function firesBetween(
  caller: Caller,
  { token, clock }: NeighbourParts,
  { from, to }: { from: Date; to: Date },
): Promise<Pick<Seen, "fires" | "latestMs" | "faults">> {
  for (;;) {
    const query = `key=${key}&from=${from.toISOString()}&to=${to.toISOString()}&limit=100`;
    const items: Listed["items"] = [];
    for (let cursor: string | null = ""; cursor !== null; ) {
      const page = (await caller.json("GET", `/v1/jobs?${query}${cursor && `&cursor=${cursor}`}`, {
        token,
      })) as Listed | undefined;
      items.push(...(page?.items ?? []));
      cursor = page?.cursor ?? null;
    }
    const now = clock.now().getTime();
    const open = items.filter(({ state }) => openStates.has(state));
    if (open.some(({ dueAt }) => now - Date.parse(dueAt) < lateMs)) {
      await clock.sleep(lookAgainMs);
      continue;
    }
    const lateness = items.map(({ dueAt, latenessMs }) => latenessMs ?? now - Date.parse(dueAt));
    const unfinished = items.filter(({ state }) => state !== "succeeded");
    return {
      fires: items.length,
      latestMs: Math.max(0, ...lateness),
      faults: unfinished.slice(0, 3).map(({ id, state }) => `the neighbour's job ${id} is ${state}`),
    };
  }
}
