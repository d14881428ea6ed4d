import { afterEach, beforeEach, expect, test } from "vitest";
import { changeMany } from "../../lib/batch/bulk-change.ts";
import { movedOutOf } from "../../lib/schedule/moved-out.ts";
import { minute } from "../support/instants.ts";
import { type Begun, type Two, twoInstallations } from "./two-installations.ts";

let two: Two;
let out: Begun;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
  for (const key of ["acme:eu:a", "acme:eu:b", "acme:us:a", "acme:us:b"])
    await two.old.put(key, { when: "every 1h" });
  out = await two.begin("acme:eu:");
  await out.drive();
});

afterEach(() => two.stop());

const to = "https://new.example";

test("Only the first call of a bulk action in steps names the other installation", async () => {
  const { queue, log, as } = two.old;
  const call = (after?: string) =>
    changeMany(
      { sql: as.api, queue, log },
      { filter: { prefix: "acme:" }, change: { verb: "pause" }, after, caller: { name: "ann" } },
      { most: 1, timeIsUp: () => false, mustEnd: () => false },
    );
  const first = await call();
  expect(first).toMatchObject({ done: 1, movedTo: [{ to, schedules: 2, more: false }] });
  const second = await call(first.next);
  expect(second).toMatchObject({ done: 1 });
  expect(second).not.toHaveProperty("movedTo");
});

test("The count of moved schedules stops at its limit and says that there are more", async () => {
  const counted = (most: number) => movedOutOf(two.old.as.api, { prefix: "acme:" }, most);
  expect(await counted(2)).toEqual({ movedTo: [{ to, schedules: 2, more: false }] });
  expect(await counted(1)).toEqual({ movedTo: [{ to, schedules: 1, more: true }] });
});

test("A schedule is not counted while its move back goes on, and counts once after it has moved out again", async () => {
  const counted = () => movedOutOf(two.old.as.api, { prefix: "acme:" });
  await out.finish();
  await two.advance(minute);
  const back = await two.begin("acme:eu:", { back: true });
  await back.drive();
  expect(await counted()).toEqual({});
  await back.finish();
  expect(await counted()).toEqual({});
  await two.advance(minute);
  await (await two.begin("acme:eu:")).drive();
  expect(await counted()).toEqual({ movedTo: [{ to, schedules: 2, more: false }] });
});
