import { afterAll, beforeAll, beforeEach } from "vitest";
import { type StackWorld, stackWorld } from "./stack-world.ts";

/** A world of stacks for the tests of a file, and for each test a key of its own. */
export function withStackWorld(given: (opened: { world: StackWorld; key: string }) => void): void {
  let world: StackWorld;
  let count = 0;
  beforeAll(async () => {
    world = await stackWorld();
  });
  afterAll(() => world.stop());
  beforeEach(() => {
    count += 1;
    world.requests.length = 0;
    world.instead = undefined;
    world.pauses = 0;
    given({ world, key: `report:${count}` });
  });
}
