import { pulseTargets } from "../../lib/pulse/pulse-targets.ts";
import { done, type Failure } from "../../lib/target/delivery.ts";
import { pulseSender } from "../../lib/target/send-pulses.ts";
import { type Carillon, carillon } from "../support/carillon.ts";
import { at, minute, second } from "../support/instants.ts";

interface Stored {
  id: number;
  every: number;
  offset?: number;
  lag?: number;
  /** In seconds after the beginning; null while the pulse is held. */
  starts?: number | null;
  ends?: number;
  queue?: string;
  team?: number;
}

export interface SentPulse {
  id: string;
  due: string;
  sentAt: string;
  data: unknown;
}

/** A Carillon whose pulses are stored as rows and go to queues in memory. */
export interface BeatWorld extends Carillon {
  store(pulses: readonly Stored[]): Promise<void>;
  /** Stores this number of pulses of shard 0 that are due together. */
  storeMany(count: number, pulse: Omit<Stored, "id"> & { first?: number; text?: string }): Promise<void>;
  /** Messages that were taken, in order. */
  sent: SentPulse[];
  /** The number of messages in each send. */
  calls: number[];
  /** The outcome of a message to a queue; a test replaces it. */
  fate: (queue: string, id: string) => "taken" | "dies" | Failure;
  /**
   * Advances the clock by seconds, with a tick each minute and a worker whenever a message arrives.
   */
  runSeconds(count: number): Promise<void>;
  /** The seconds after the beginning at which a pulse was sent and, by `dueOf`, is due. */
  secondsOf(id: number): number[];
  dueOf(id: number, until: number): number[];
  onlyParcel(): Promise<string>;
}

const start = at(0).getTime() / second;
const shards = 16;

export async function beatWorld(): Promise<BeatWorld> {
  const plain = await carillon();
  const stored = new Map<number, Stored>();
  let tickAt = at(0).getTime();
  const insert = async (pulse: Stored, rest: string, ids: readonly number[]) => {
    const { every, offset = 0, lag = 0, starts = 1, ends, queue = "demo", team = 0 } = pulse;
    const target = JSON.stringify({ queue });
    await plain.sql`insert into carillon.pulse_targets (target) values (${target}::text::jsonb) on conflict do nothing`;
    await plain.sql`
      insert into carillon.pulses (schedule_id, starts_s, ends_s, every_s, offset_s, lag_s, target_id, team_id, shard, rest, may_have_jobs)
      select i.id, ${starts === null ? null : start + starts}::bigint, ${ends === undefined ? null : start + ends}::bigint, ${every}, ${offset}, ${lag},
        (select id from carillon.pulse_targets where target = ${target}::text::jsonb), ${team}, i.id % ${shards}, ${rest}, false
      from unnest(${ids.map(String)}::bigint[]) i (id)`;
  };
  const world: BeatWorld = Object.assign(plain, {
    sent: [],
    calls: [],
    fate: (): "taken" => "taken",
    store: async (pulses: readonly Stored[]) => {
      for (const pulse of pulses) {
        stored.set(pulse.id, pulse);
        await insert(pulse, '"data":"a"}', [pulse.id]);
      }
    },
    storeMany: (
      count: number,
      { first = 1, text = "a", ...pulse }: { first?: number; text?: string } & Omit<Stored, "id">,
    ) =>
      insert(
        { id: 0, ...pulse },
        `"data":${JSON.stringify(text)}}`,
        Array.from({ length: count }, (_, n) => (first + n) * shards),
      ),
    runSeconds: async (count: number) => {
      const end = world.clock.now().getTime() + count * second;
      for (;;) {
        const now = world.clock.now().getTime();
        if (now >= tickAt) {
          await world.tick();
          tickAt += minute;
        }
        // A message arrives when it is due, or up to a second earlier.
        const dues = world.queue.messages.flatMap(({ visibleAt }) => [visibleAt, visibleAt + second]);
        const next = Math.min(tickAt, end, ...dues.filter((each) => each > now));
        if (next > now) await world.clock.setNow(new Date(next));
        await world.work();
        if (next === end) return;
      }
    },
    secondsOf: (id: number) =>
      world.sent
        .filter((each) => each.id.startsWith(`${id}-`))
        .map(({ due }) => Date.parse(due) / second - start)
        .sort((a, b) => a - b),
    dueOf: (id: number, until: number) => {
      const { every, offset = 0 } = stored.get(id) ?? { every: 1 };
      return Array.from({ length: until }, (_, n) => n + 1).filter((s) => (start + s) % every === offset);
    },
    onlyParcel: async () => {
      const [parcel, ...more] = await world.sql<
        { id: string }[]
      >`select id from carillon.parcels where pulse_at <= carillon.clock()`;
      if (parcel === undefined || more.length > 0) throw new Error("There is no parcel, or more than one.");
      return parcel.id;
    },
  });
  world.more.worker = {
    pulses: {
      targets: pulseTargets(world.sql),
      send: pulseSender({
        put: async () => [],
        send: async (messages) => {
          if (messages.length > 0) world.calls.push(messages.length);
          return messages.map(({ body, id, target: { queue } }) => {
            const fate = world.fate(queue, id);
            if (fate === "dies") throw new Error("This process is out of order.");
            if (fate !== "taken") return fate;
            const { time, data }: { time: string; data: unknown } = JSON.parse(body);
            world.sent.push({ id, due: time, sentAt: world.clock.now().toISOString(), data });
            return done;
          });
        },
      }),
    },
  };
  return world;
}
