import { expect, test } from "vitest";
import { applyBatch } from "../../lib/command/apply-batch.ts";
import { acceptance } from "../inbox/inbox-world.ts";
import { carillon } from "../support/carillon.ts";
import { at } from "../support/instants.ts";
import { agendaPages } from "./pages.ts";

/** More than one statement of a page reads, both of cadences and of their schedules. */
const cadences = 208;
const ofEach = 6;

test("The coming runs of one outcome are listed page by page through an instant at which hundreds of cadences meet", async () => {
  await using stop = new AsyncDisposableStack();
  const world = await carillon();
  stop.defer(() => world.stop());
  const caller = { name: "ann", origin: { via: "api", request: "request-1" } } as const;
  const commands = Array.from({ length: cadences * ofEach }, (_, n) => {
    const cadence = n % cadences;
    const when = `7,${8 + (cadence % 52)} ${1 + Math.floor(cadence / 52)}-13 * * *`;
    return { input: { put: { key: `crowd:${n}`, when, target: { queue: "demo" } } }, caller };
  });
  const deps = { sql: world.sql, queue: world.queue, log: world.log, acceptance };
  for (let from = 0; from < commands.length; from += 624)
    await applyBatch(deps, commands.slice(from, from + 624));
  const window = [at("13:07:00"), at("13:07:01")] as const;
  const planned = await agendaPages(world.sql, {}, window, 100, "planned");
  expect(new Set(planned.map(({ key }) => key)).size).toBe(cadences * ofEach);
  expect(planned).toHaveLength(cadences * ofEach);
});
