import { expect, test } from "vitest";
import { tagShape } from "../../lib/schedule/shape/schedule-key.ts";
import { isOwnedBy, otherOwner, tagsOf } from "../../lib/stack/owner-tags.ts";
import type { StackWorld } from "./stack-world.ts";
import { withStackWorld } from "./with-stack-world.ts";

let world: StackWorld;
let key: string;
withStackWorld((opened) => {
  ({ world, key } = opened);
});

const daily = (more: object = {}) => ({
  key,
  when: "@daily",
  target: { queue: "carillon-target-mails" },
  ...more,
});
const other = { stack: "Billing", resource: "Daily" };
const mine = { stack: "Shop", resource: "Weekly" };
const read = async () => {
  const { status, json } = await world.api.send("GET", `/v1/schedules/${key}`);
  return status === 404 ? null : json;
};
const byHand = (tags: string[]) => {
  const { key: _, ...body } = daily({ tags, description: "by hand" });
  return world.api.send("PUT", `/v1/schedules/${key}`, { body });
};

test.each([
  ["a schedule that was made by hand", () => byHand([]), "was not made by this resource"],
  ["a schedule of `carillon apply`", () => byHand(["apply:billing"]), "belongs to apply:billing"],
  [
    "a schedule of another stack",
    () => world.ask("Create", daily({ description: "by hand" }), other),
    "belongs to stack:Billing:Daily",
  ],
  [
    "a schedule of another resource of the same stack",
    () => world.ask("Create", daily({ description: "by hand" }), { ...mine, resource: "Other" }),
    "belongs to stack:Shop:Other",
  ],
])(
  "a creation with the key of %s is refused, and its rollback leaves the schedule",
  async (_, make, reason) => {
    await make();
    const before = await read();
    const answer = await world.ask("Create", daily(), mine);
    expect(answer).toMatchObject({ Status: "FAILED", Reason: expect.stringContaining(reason) });
    expect(answer.Reason).toContain("set takeOver to true");
    const rollback = await world.ask("Delete", daily(), { ...mine, id: answer.PhysicalResourceId });
    expect(rollback).toMatchObject({ Status: "SUCCESS" });
    expect(await read()).toEqual(before);
  },
);

test("takeOver makes a schedule the resource's; the former stack may neither change nor delete it", async () => {
  const former = await world.ask("Create", daily(), other);
  expect(await world.ask("Create", daily({ takeOver: "true" }), mine)).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ tags: ["stack:Shop", "stack:Shop:Weekly"], version: 2 });
  const asking = { ...other, id: former.PhysicalResourceId };
  expect(await world.ask("Update", daily({ description: "mine" }), asking)).toMatchObject({
    Status: "FAILED",
    Reason: expect.stringContaining("belongs to stack:Shop:Weekly"),
  });
  expect(await world.ask("Delete", daily(), asking)).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ description: null, version: 2 });
});

test("takeOver that is removed again changes nothing", async () => {
  await byHand([]);
  const { PhysicalResourceId: id } = await world.ask("Create", daily({ takeOver: "true" }), mine);
  expect(await world.ask("Update", daily(), { ...mine, id })).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ version: 2 });
});

test("a schedule that another set has adopted by its tag is refused in an update and stays at a deletion", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", daily(), mine);
  await byHand([...tagsOf(mine), "apply:billing"]);
  expect(await world.ask("Update", daily(), { ...mine, id })).toMatchObject({ Status: "FAILED" });
  expect(await world.ask("Delete", daily(), { ...mine, id })).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ description: "by hand" });
});

test("a schedule without its stack's tags stays when its resource is deleted, and an update marks it again", async () => {
  const { PhysicalResourceId: id } = await world.ask("Create", daily(), mine);
  await byHand([]);
  expect(await world.ask("Delete", daily(), { ...mine, id })).toMatchObject({ Status: "SUCCESS" });
  expect(await read()).toMatchObject({ description: "by hand" });
  expect(await world.ask("Update", daily({ description: "again" }), { ...mine, id })).toMatchObject({
    Status: "SUCCESS",
  });
  expect(await read()).toMatchObject({ description: "again", tags: tagsOf(mine) });
});

test("a schedule that was retained is the resource's again when its stack is made again", async () => {
  await world.ask("Create", daily(), mine);
  // With the policy Retain, CloudFormation sends no request for the deletion.
  expect(await world.ask("Create", daily({ description: "second" }), mine)).toMatchObject({
    Status: "SUCCESS",
  });
  expect(await read()).toMatchObject({ description: "second", version: 2 });
});

test("tags of long names are valid tags, and differ where the names do", () => {
  const long = { stack: "s".repeat(128), resource: "r".repeat(255) };
  const longer = { ...long, resource: `${long.resource.slice(1)}x` };
  const tags = [...tagsOf(long), tagsOf(longer)[1]];
  expect(new Set(tags).size).toBe(3);
  for (const tag of tags) expect(tagShape.safeParse(tag).success).toBe(true);
  expect(isOwnedBy(long, tagsOf(longer))).toBe(false);
  expect(otherOwner(long, tagsOf(longer))).toBe(tagsOf(longer)[1]);
});
