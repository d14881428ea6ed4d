import { afterEach, beforeEach, expect, test } from "vitest";
import { readLastRuns } from "../../lib/agenda/last-runs.ts";
import { explain } from "../../lib/explain/explain.ts";
import { minute, second } from "../support/instants.ts";
import { type Two, twoInstallations } from "./two-installations.ts";

let two: Two;

beforeEach(async () => {
  two = await twoInstallations();
  await two.run();
});

afterEach(() => two.stop());

test("The explanation of a run after a move says where the schedule is, since when, and by which move", async () => {
  await two.old.put("acme:a", { when: "*/1 * * * *" });
  const begun = await two.begin("acme:");
  await two.advance(30 * second);
  const { ids } = await begun.source.freeze({ after: "", limit: 10 });
  await two.advance(minute);
  await begun.source.take(ids);
  await begun.drive();
  await begun.finish();
  await two.advance(minute);
  await two.run();
  const told = async (at: string) => {
    const { outcome, sentence } = await explain(two.old.as.api, {
      key: "acme:a",
      at: new Date(`2026-03-02T${at}Z`),
    });
    return { outcome, sentence };
  };
  const there = `is at https://new.example since 2026-03-02T10:01:30Z (move ${begun.move.id}). Ask there.`;
  expect(await told("10:02:00")).toEqual({
    outcome: "moved-away",
    sentence: `Is after the move of the schedule, which ${there}`,
  });
  expect(await told("10:01:00")).toEqual({
    outcome: "moved-away",
    sentence: `Did not run here: the move of the schedule had stopped it. It ${there}`,
  });
  expect(two.ran("acme:a")).toContain("2026-03-02T10:01:00.000Z");
});

test("The explanation and the last runs say of a delayed run that the schedule had moved before it was due", async () => {
  await two.old.put("acme:a", { when: "0 * * * *", slot: "50m" });
  const begun = await two.begin("acme:");
  await two.advance(65 * minute);
  await begun.drive();
  const at = new Date("2026-03-02T11:00:00Z");
  const { outcome, sentence } = await explain(two.old.as.api, { key: "acme:a", at });
  const { items } = await readLastRuns(two.old.as.api, { keys: ["acme:a"], most: 1 });
  expect(outcome).toBe("moved-away");
  expect(items[0]?.runs).toMatchObject([{ occurrence: at, outcome: "moved-away" }]);
  expect(sentence).toContain(
    `the schedule had moved before: it is at https://new.example since 2026-03-02T11:05:00Z`,
  );
});
