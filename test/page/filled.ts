import { type Delivery, done, failed } from "../../lib/target/delivery.ts";
import type { Carillon } from "../support/carillon.ts";
import { hour, minute } from "../support/instants.ts";
import { type OwnPage, ownPage } from "./own-page.ts";

/** Half an hour before the clocks of Berlin go forward. */
const begin = "2026-03-29T00:30:00.000Z";

/** The key of a job that has died of an HTTP status. */
export const deadKey = "hooks:partner-a:order-created";
/** A schedule at half past two, which does not exist on this day in Berlin. */
export const gapKey = "billing:invoice:eu";
export const longKey = "campaign:spring-sale-2026:reminder:customer-0000000000012345:second-notice-by-post";

/** A page over schedules that ran for an hour, with failures, an outage, holds and a clock change. */
export async function filledPage(): Promise<OwnPage> {
  const own = await ownPage(begin);
  const { world, client } = own;
  world.outcome = outcomeIn(world);
  await client.calendars.put("holidays", { dates: ["2026-03-30", "2026-04-03"], weekly: ["sun"] });
  for (const [key, body] of Object.entries(schedules)) await world.put(key, body, "ops");
  await client.batch(
    Array.from({ length: 150 }, (_, n) => ({
      put: {
        key: `crm:contact:${String(n).padStart(4, "0")}`,
        when: `${n % 60} 7 * * *`,
        timezone: "America/New_York",
        target: { queue: "crm" },
        group: `crm:account:${n % 10}`,
        tags: ["crm"],
      },
    })),
  );
  await world.pause("export:warehouse", { owner: "night-shift", reason: "waits for the new index" });
  await client.groups.pause("crm:account:7", {
    reason: "the account is in dispute",
    until: new Date(Date.parse(begin) + 2 * hour),
  });
  await minutesPass(world, 45);
  await world.clock.advance(12 * minute);
  await minutesPass(world, 18);
  return own;
}

const schedules: Readonly<Record<string, object>> = {
  [gapKey]: { when: "30 2 * * *", timezone: "Europe/Berlin", target: { queue: "billing" } },
  [deadKey]: {
    when: "every 2m",
    target: { webhook: { url: "https://hooks.example.com/orders" } },
    payload: { order: 4711, lines: [{ article: "bell", amount: 2 }] },
    retry: { attempts: 1 },
    tags: ["hooks"],
  },
  "hooks:partner-b:stock": {
    when: "every 7m",
    target: { webhook: { url: "https://api.partner.example/stock" } },
    retry: { attempts: 1 },
    tags: ["hooks"],
  },
  "sync:ledger": { when: "every 5m", target: { lambda: "sync-ledger" }, retry: { attempts: 3, base: "5s" } },
  "device:meter:0042:reading": {
    when: "every 1m",
    target: { queue: "devices" },
    catchUp: { policy: "skip" },
    tags: ["devices"],
  },
  "device:meter:0043:reading": { when: "*/3 * * * *", target: { queue: "devices" }, tags: ["devices"] },
  "reports:daily": {
    when: "0 9 * * *",
    timezone: "Europe/Berlin",
    target: { queue: "reports" },
    calendar: { name: "holidays", on: "skip" },
  },
  [longKey]: { when: "at 2026-03-29T09:00", timezone: "Europe/Berlin", target: { queue: "campaigns" } },
  "once:done": { when: "in 2m", target: { queue: "demo" } },
  "export:warehouse": { when: "every 10m", target: { queue: "exports" } },
};

/** The outcome of an attempt, by the key of its schedule. */
function outcomeIn(world: Carillon): Carillon["outcome"] {
  return async ({ key, attempt }): Promise<Delivery> => {
    await world.clock.advance(key.startsWith("sync:") ? 1_400 : 80);
    if (key === deadKey) return failed("HTTP 503 Service Unavailable");
    if (key.startsWith("hooks:")) return failed("Error: connect ECONNREFUSED 10.0.0.7:443");
    if (key === "sync:ledger" && attempt === 0) return failed("Error: read ECONNRESET");
    return done;
  };
}

/** A tick each minute, and work at the moments at which messages become visible. */
async function minutesPass(world: Carillon, minutes: number): Promise<void> {
  for (let passed = 0; passed < minutes; passed++) {
    const end = Math.floor(world.clock.now().getTime() / minute) * minute + minute;
    await world.tick();
    for (;;) {
      const next = Math.min(...world.queue.messages.map(({ visibleAt }) => visibleAt));
      if (next > end) break;
      if (next > world.clock.now().getTime()) await world.clock.setNow(new Date(next));
      await world.work();
    }
    if (world.clock.now().getTime() < end) await world.clock.setNow(new Date(end));
  }
}

/** An installation without a schedule. */
export const emptyPage = (): Promise<OwnPage> => ownPage(begin);
