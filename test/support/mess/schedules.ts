import type { CalendarBody, Operation, ScheduleBody } from "../../../lib/client/main.ts";
import type { Dice } from "../../race/seeded.ts";

/** One team's schedules, by their share of all. */
interface Kind {
  share: number;
  schedule(n: number, dice: Dice): { key: string } & ScheduleBody;
}

const zones = ["Europe/Berlin", "America/New_York", "Asia/Tokyo", "UTC"] as const;

/** Names under `.invalid` never resolve, and no Lambda function exists locally: these targets fail. */
const kinds: readonly Kind[] = [
  {
    share: 0.2,
    schedule: (n, dice) => ({
      key: `crm:contact:${n}`,
      when: `${dice.between(0, 59)} ${dice.between(6, 20)} * * ${dice.pick(["*", "MON-FRI", "MON"])}`,
      timezone: dice.pick(zones),
      target: { queue: "crm" },
      group: `crm:account:${n % 40}`,
      tags: ["crm"],
    }),
  },
  {
    share: 0.1,
    schedule: (n, dice) => ({
      key: `billing:invoice:${n}`,
      when: `every ${dice.between(2, 5)}m`,
      target: { webhook: { url: `https://${dice.pick(["billing", "ledger"])}.invalid/invoices/${n}` } },
      payload: { invoice: n },
      tags: ["billing"],
      retry: { attempts: 2, base: "5s" },
    }),
  },
  {
    share: 0.05,
    schedule: (n, dice) => ({
      key: `sync:account:${n}`,
      when: `every ${dice.between(1, 3)}m`,
      target: { lambda: dice.pick(["sync-accounts", "export-ledger"]) },
      retry: { attempts: dice.between(1, 3), base: "5s" },
      tags: ["sync"],
    }),
  },
  {
    share: 0.2,
    schedule: (n, dice) => ({
      key: `order:${n}:unshipped`,
      when: `in ${dice.between(1, 2_000)}m`,
      target: { handler: "order-unshipped" },
      payload: { orderId: n, alertAfter: "3h" },
      group: `order:${n}`,
      tags: ["orders"],
    }),
  },
  {
    share: 0.15,
    schedule: (n, dice) => ({
      key: `report:${n}`,
      when: dice.pick(["0 9 * * MON-FRI", "0 9 * * MON", "30 8 1 * *", "0 9 * * *"]),
      timezone: "Europe/Berlin",
      target: { queue: "reports" },
      calendar: dice.chance(0.7) ? { name: "holidays", on: dice.pick(["skip", "next"] as const) } : null,
      tags: ["reports"],
    }),
  },
  {
    share: 0.3,
    schedule: (n, dice) => ({
      key: `device:${n}`,
      when: dice.pick(["every 1m", "every 5m", "*/5 * * * *", "every 1h"]),
      target: { queue: "devices" },
      spread: dice.pick(["0s", "30s"]),
      catchUp: { policy: dice.pick(["latest", "all", "skip"] as const) },
      tags: ["devices"],
    }),
  },
];

/** The same schedules for the same seed. */
export function schedulesOf(count: number, dice: Dice): Operation[] {
  return kinds.flatMap(({ share, schedule }) =>
    Array.from({ length: Math.round(count * share) }, (_, n) => ({ put: schedule(n, dice) })),
  );
}

/** The next workday is a holiday, so that a calendar leaves out reports. */
export function holidaysAfter(now: Date): CalendarBody {
  const next = new Date(now.getTime() + 86_400_000);
  return { dates: [next.toISOString().slice(5, 10), "12-25", "12-26", "01-01"], weekly: ["sat", "sun"] };
}
