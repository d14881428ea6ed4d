import { type OwnPage, ownPage } from "./own-page.ts";

export const group = "crm:account:7";
export const target = "webhook/hooks.example.com";
export const formulaKey = "crm:contact:formula";

/** A page over schedules, limits, a group's hold, and commands that were refused. */
export async function restPage(): Promise<OwnPage> {
  const own = await ownPage("2026-03-29T00:30:00.000Z");
  const { client, world } = own;
  const put = (key: string, more: object = {}) => ({
    put: { key, when: "every 5m", target: { queue: "crm" }, tags: ["crm"], ...more },
  });
  await client.batch([
    ...Array.from({ length: 120 }, (_, n) => put(`crm:contact:${String(n).padStart(4, "0")}`, { group })),
    put(formulaKey, { description: '=HYPERLINK("https://example.com";"here")' }),
    put("hooks:orders", { target: { webhook: { url: "https://hooks.example.com/orders" } } }),
    put("once:later", { when: "at 2026-06-01T09:00", timezone: "Europe/Berlin" }),
  ]);
  await client.limits.put(target, { concurrency: 10, rate: "100/m" });
  await client.schedules.patch("hooks:orders", { when: "every 10m", timeout: "20s" });
  await client.schedules.pause("hooks:orders", { reason: "the partner is away" });
  await client.tokens.create({ name: "billing", scope: "write", prefix: "billing:" });
  await world.sql`
    select carillon.put_schedule('{"key": "shop:reminder", "when": "in 3 h ours", "target": {"queue": "shop"}}')`;
  await client.inbox.apply();
  const refusal = {
    kind: "invalid",
    message: "The schedule is not understood.",
    faults: [{ path: "put.when", message: "is not understood" }],
  };
  const command = { id: "evt-81", put: { key: "order:1234", when: "evry 1h", target: { queue: "orders" } } };
  await world.sql`
    insert into carillon.dead_commands (message_id, place, command_id, key, refused_at, refusal, command)
    values ('0c5d5e3b', 0, 'evt-81', 'order:1234', carillon.clock(), ${JSON.stringify(refusal)}::text::jsonb,
      ${JSON.stringify(command)}::text::jsonb)`;
  await world.sql`
    insert into carillon.outages (what, from_at, to_at, noted_at)
    values ('tick', carillon.clock() - interval '2 h', carillon.clock() - interval '1 h 54 min', carillon.clock()),
      ('fast-workers', carillon.clock() - interval '5 min', null, carillon.clock())`;
  await world.sql`
    insert into carillon.quarantine (consumer, item, schedule_id, reason, first_at, last_at, tries, next_at)
    select 'ended', id::text, id, 'PostgresError: 55P03 canceling statement due to lock timeout', carillon.clock() - interval '1 h',
      carillon.clock(), 4, carillon.clock() + interval '8 min'
    from carillon.schedules where key in ('hooks:orders', ${`crm:contact:0003`})`;
  return own;
}
