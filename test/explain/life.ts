import { done, failed } from "../../lib/target/delivery.ts";
import type { Dice } from "../race/seeded.ts";
import type { Carillon } from "../support/carillon.ts";
import { minute, second } from "../support/instants.ts";

const whens = ["*/5 * * * *", "*/3 * * * *", "every 4m", "* * * * *", ["*/7 * * * *", "*/10 * * * *"]];
const catchUps = [
  { policy: "latest" },
  { policy: "latest", within: "20m" },
  { policy: "all", limit: 5 },
  { policy: "all", limit: 30 },
  { policy: "skip" },
];

const steps = 60;

/**
 * Ticks and workers that stop and return, pauses by two owners, and edits that change the times.
 */
export async function live(world: Carillon, { pick, chance }: Dice): Promise<void> {
  world.outcome = () => (chance(0.1) ? failed("no luck") : done);
  await world.put("k", {
    when: pick(whens),
    catchUp: pick(catchUps),
    spread: pick(["0s", "3m"]),
    overlap: pick(["allow", "skip", "queue"]),
    retry: { attempts: 2, base: "10s" },
  });
  const owner = () => pick(["ann", "bob"]);
  const soon = () => new Date(world.clock.now().getTime() + pick([3, 11, 40]) * minute);
  const acts: (() => Promise<unknown>)[] = [
    () => world.tick().then(() => world.work()),
    () => world.tick().then(() => world.work()),
    () => world.tick().then(() => world.work()),
    () => world.tick(),
    () => world.work(),
    () => world.pause("k", { owner: owner(), reason: "quiet" }),
    () => world.pause("k", { owner: owner(), until: soon() }),
    () => world.resume("k", "ann"),
    () => world.resume("k", "bob"),
    () => world.resume("k", owner()),
    () => world.patch("k", { when: pick(whens) }, "carl"),
    () => world.patch("k", { catchUp: pick(catchUps) }, "dora"),
    () => world.patch("k", { spread: pick(["0s", "1m", "4m"]) }, "dora"),
    () => world.clock.advance(pick([5, 20, 70]) * minute),
  ];
  for (let step = 0; step < steps; step++) {
    await world.clock.advance(pick([0, 20 * second, minute, minute, 2 * minute + 7 * second]));
    await pick(acts)();
  }
  await world.tick();
  await world.work();
}
