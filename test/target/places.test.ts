import { describe, expect, test } from "vitest";
import { Places } from "../../lib/target/places.ts";

describe("places", () => {
  test("a place is given at once while one is free, and then in the order of the requests", async () => {
    const places = new Places(2);
    expect([places.take(), places.take()]).toEqual([true, true]);
    const had: string[] = [];
    const third = Promise.resolve(places.take()).then(() => had.push("third"));
    const fourth = Promise.resolve(places.take()).then(() => had.push("fourth"));
    places.giveBack();
    await third;
    expect(had).toEqual(["third"]);
    places.giveBack();
    await fourth;
    expect(had).toEqual(["third", "fourth"]);
    places.giveBack();
    expect(places.take()).toBe(true);
  });

  test("after `close`, waiting requests are refused, and a request that finds a free place gets it", async () => {
    const places = new Places(1);
    expect(places.take()).toBe(true);
    const waiting = places.take();
    places.close();
    expect(await waiting).toBe(false);
    expect(await places.take()).toBe(false);
    places.giveBack();
    expect(places.take()).toBe(true);
  });
});
