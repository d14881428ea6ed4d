import { setTimeout as sleep } from "node:timers/promises";
import type { Sql } from "../../lib/db/connect.ts";
import { tickApplication } from "./tick-process.ts";

/** How often a tick's backend was found in each state. */
export interface Waits {
  /** Runs on a core, or is ready for one. */
  running: number;
  /** Waits to write the WAL, or until the WAL is on disk. */
  wal: number;
  /** Waits for pages, locks or anything else. */
  other: number;
  /** Waits for the next statement of its tick. */
  client: number;
}

const pauseMs = 25;

/** Samples the state of the ticks' backends until it is ended. */
export function backendWaits(sql: Sql): { end(): Promise<Waits> } {
  const waits: Waits = { running: 0, wal: 0, other: 0, client: 0 };
  let over = false;
  let failure: unknown;
  const looking = (async () => {
    for (; !over; await sleep(pauseMs)) {
      for (const { wait, backends } of await sample(sql)) waits[wait] += backends;
    }
  })().catch((error: unknown) => {
    failure = error;
  });
  return {
    end: async () => {
      over = true;
      await looking;
      if (failure !== undefined) throw failure;
      return waits;
    },
  };
}

function sample(sql: Sql): PromiseLike<{ wait: keyof Waits; backends: number }[]> {
  return sql<{ wait: keyof Waits; backends: number }[]>`
    select case
        when wait_event is null then 'running'
        when wait_event_type = 'Client' then 'client'
        when wait_event ilike 'wal%' then 'wal'
        else 'other' end as wait,
      count(*)::int as backends
    from pg_stat_activity where application_name = ${tickApplication} group by 1`;
}

/** "running 62 %, waiting for the WAL 21 %, …". */
export function waitsText(waits: Waits): string {
  const all = waits.running + waits.wal + waits.other + waits.client;
  const percent = (count: number) => `${all === 0 ? 0 : Math.round((count / all) * 100)} %`;
  return `${percent(waits.running)} running, ${percent(waits.wal)} waiting for the WAL, ${percent(waits.other)} for pages and locks, ${percent(waits.client)} for their ticks`;
}
