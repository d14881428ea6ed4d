import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { EventBridgeClient } from "@aws-sdk/client-eventbridge";
import { z } from "zod";
import type { LifecycleEvent } from "../../lib/config/lifecycle-events.ts";
import { applyWantedHolds } from "../../lib/edit/wanted-holds.ts";
import { parcelEvents } from "../../lib/lifecycle/parcel-events.ts";
import { silentLog } from "../../lib/log/log.ts";
import type { QueueMessage } from "../../lib/tools/local/events/bus.ts";
import { startEvents } from "../../lib/tools/local/events/start-events.ts";
import { type Carillon, carillon, type RoleUrls } from "../support/carillon.ts";

const arrivals = z.object({
  items: z.array(
    z.looseObject({
      bus: z.string(),
      source: z.string(),
      "detail-type": z.string(),
      detail: z.looseObject({ id: z.string(), data: z.looseObject({}) }),
    }),
  ),
});

export type Arrival = z.infer<typeof arrivals>["items"][number];

/**
 * A Carillon with an event bus of its own, which receives its ticks' and workers' events about
 * jobs.
 */
export interface BusWorld extends Carillon {
  bus: { url: string; client: EventBridgeClient; sent: QueueMessage[] };
  /** Events that arrived at the bus, oldest first. */
  arrived(): Promise<Arrival[]>;
  /** Lets the worker send events at once, as it does when deployed. */
  tellAtOnce(): void;
  outbox(): Promise<{ event: string; tries: number; waitSeconds: number }[]>;
}

const credentials = { accessKeyId: "someone", secretAccessKey: "secret" };

export async function busWorld({
  notify = ["dead", "missed"],
  roles,
}: {
  notify?: readonly LifecycleEvent[];
  roles?: RoleUrls;
} = {}): Promise<BusWorld> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "carillon-lifecycle-"));
  const sent: QueueMessage[] = [];
  const send = async (message: QueueMessage) => void sent.push(message);
  const endpoint = await startEvents({ dataDir, port: 0, send, log: silentLog });
  const settings = { region: "us-east-1", credentials, maxAttempts: 1 };
  const client = new EventBridgeClient({ ...settings, endpoint: endpoint.url });
  const world = await carillon(roles === undefined ? {} : { roles });
  const { as, queue, log } = world;
  const { tick } = world;
  world.more.tick = { bus: { events: client, bus: "default" } };
  world.more.worker = { notify };
  const own: BusWorld = {
    ...world,
    bus: { url: endpoint.url, client, sent },
    arrived: async () => {
      const answer = await fetch(`${endpoint.url}/events?limit=1000`);
      return arrivals.parse(await answer.json()).items.reverse();
    },
    tellAtOnce: () => {
      world.more.worker = {
        notify,
        events: parcelEvents({ sql: as.worker, events: client, bus: "default", log }, notify),
        holdWanted: (only) => applyWantedHolds({ sql: as.worker, queue, log }, { only }),
      };
    },
    tick: (given = {}) => tick({ notify, ...given }),
    outbox: () => world.sql`
      select event, tries, extract(epoch from offer_at - carillon.clock())::int as "waitSeconds" from carillon.outbox order by id`,
    work: (timeLeftMs) => {
      world.outcome = own.outcome;
      return world.work(timeLeftMs);
    },
    stop: async () => {
      client.destroy();
      await endpoint.stop();
      rmSync(dataDir, { recursive: true, force: true });
      await world.stop();
    },
  };
  return own;
}
