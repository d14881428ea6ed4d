import { afterEach, beforeEach, expect, test } from "vitest";
import { parseTargetPrefix } from "../../lib/config/target-settings.ts";
import { failed } from "../../lib/target/delivery.ts";
import { type BeatWorld, beatWorld } from "./beat-world.ts";

let world: BeatWorld;

beforeEach(async () => {
  world = await beatWorld();
});

afterEach(() => world.stop());

/** The setting names the targets after the pulses were stored. */
function keepTargets(...entries: string[]): void {
  const pulses = world.more.worker?.pulses;
  if (pulses === undefined) throw new Error("The worker sends no pulses.");
  world.more.worker = { pulses: { ...pulses, prefixes: entries.map(parseTargetPrefix) } };
}

const idsSent = () => world.sent.map(({ id }) => Number(id.split("-")[0]));
const passed = () =>
  world.sql`select reason, sum(count)::int as count from carillon.pulses_passed group by reason`;
const logged = () => world.log.lines.filter(({ level }) => level !== "info");

/** Gives stored pulses their keys. */
const name = (keys: Readonly<Record<number, string>>) =>
  world.sql`
    update carillon.pulses p set rest = '"subject":' || to_json(k.key)::text || ',"data":1}'
    from unnest(${Object.keys(keys)}::bigint[], ${Object.values(keys)}::text[]) k (id, key) where p.schedule_id = k.id`;

test("Pulses of schedules whose target has since been kept for other keys are given up and logged, and those of its own keys go", async () => {
  await world.store(
    [1, 17, 33].map((id) => ({ id, every: 60, offset: 20, queue: id === 33 ? "free" : "good-mails" })),
  );
  await name({ 1: "good:a", 17: "evil:a", 33: "evil:b" });
  keepTargets("good:=queue/good-*");
  await world.runSeconds(30);
  expect(idsSent().toSorted()).toEqual([1, 33]);
  expect(await passed()).toEqual([{ reason: "refused", count: 1 }]);
  expect(logged()).toMatchObject([
    {
      level: "error",
      event: "pulse.not-allowed",
      fields: { pulses: 1, ids: expect.stringMatching(/^17-\d+-c0$/) },
    },
  ]);
});

test("A pulse that is made by an edit has the key by which its target is compared", async () => {
  const pulse = { when: "every 10s", delivery: "pulse", target: { queue: "good-mails" } };
  for (const key of ["good:a", "evil:a"]) await world.put(key, pulse);
  const [good] = await world.sql<
    { id: number }[]
  >`select id::int from carillon.schedules where key = 'good:a'`;
  keepTargets("good:=queue/good-mails");
  await world.runSeconds(30);
  expect(new Set(idsSent())).toEqual(new Set([good?.id]));
});

test("While pulses of a kept target are tried again, those of other keys count once and are never sent", async () => {
  await world.store([1, 17].map((id) => ({ id, every: 600, offset: 20, queue: "good-mails" })));
  await name({ 1: "good:a", 17: "evil:a" });
  keepTargets("good:=queue/good-mails");
  const asked: string[] = [];
  world.fate = (_, id) => {
    asked.push(id.split("-")[0] ?? "");
    return asked.length > 4 ? "taken" : failed("Busy.");
  };
  await world.runSeconds(60);
  expect({ asked, sent: idsSent() }).toEqual({ asked: ["1", "1", "1", "1", "1"], sent: [1] });
  expect(await passed()).toEqual([{ reason: "refused", count: 1 }]);
});

test("Pulses of other keys on one page do not keep those of the target's own keys on the next page back", async () => {
  await world.storeMany(2_500, { every: 600, offset: 20, queue: "good-mails" });
  await world.sql`update carillon.pulses set rest = '"subject":"evil:a","data":1}' where schedule_id <= 2400 * 16`;
  keepTargets("good:=queue/good-mails");
  await world.runSeconds(30);
  expect(world.sent).toHaveLength(100);
  expect(await passed()).toEqual([{ reason: "refused", count: 2_400 }]);
  expect(logged()).toMatchObject([{ event: "pulse.not-allowed", fields: { pulses: 2_400 } }]);
  expect(String(logged()[0]?.fields["ids"]).split(" ")).toHaveLength(20);
});
