import { expect, test } from "vitest";
import { parseTargetPrefix } from "../../lib/config/target-settings.ts";
import { targetShape } from "../../lib/schedule/shape/target-shape.ts";
import { deliverTo } from "../../lib/target/deliver.ts";
import { type DeliveryContext, done, failed } from "../../lib/target/delivery.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { deliveryContext } from "../support/delivery-context.ts";

const targets = {
  handler: { handler: "h" },
  queue: { queue: "q" },
  event: { event: {} },
  webhook: { webhook: { url: "https://example.com/" } },
  lambda: { lambda: "f" },
};

const job = (kind: keyof typeof targets, n: number) => claimedJob(targetShape.parse(targets[kind]), { n });

test("each job of a parcel is delivered by its own kind of target, and the outcomes are in the order of the jobs", async () => {
  const told: DeliveryContext[] = [];
  const answering = (kind: string) => async (jobs: readonly { n: number }[], context: DeliveryContext) => {
    told.push(context);
    return jobs.map(({ n }) => (n % 2 === 0 ? done : failed(`${kind} ${n}`)));
  };
  const deliver = deliverTo({
    queue: answering("queue"),
    event: answering("event"),
    handler: answering("handler"),
    webhook: answering("webhook"),
    lambda: answering("lambda"),
  });
  const context = deliveryContext();
  const jobs = [
    job("handler", 1),
    job("queue", 2),
    job("lambda", 3),
    job("event", 5),
    job("webhook", 7),
    job("webhook", 8),
    job("queue", 9),
  ];
  expect(await deliver(jobs, context)).toMatchObject([
    { error: "handler 1" },
    { kind: "done" },
    { error: "lambda 3" },
    { error: "event 5" },
    { error: "webhook 7" },
    { kind: "done" },
    { error: "queue 9" },
  ]);
  expect(told).toEqual(Array(5).fill(context));
});

test("a parcel with one kind of target is delivered as the claimed list; with several kinds, each gets the claimed job objects", async () => {
  const told: (readonly object[])[] = [];
  const answering = async (jobs: readonly object[]) => {
    told.push(jobs);
    return jobs.map(() => done);
  };
  const deliver = deliverTo({
    queue: answering,
    event: answering,
    handler: answering,
    webhook: answering,
    lambda: answering,
  });
  const alike = [job("webhook", 1), job("webhook", 2)];
  expect(await deliver(alike, deliveryContext())).toEqual([done, done]);
  expect(told[0]).toBe(alike);
  const [queued, handled] = [job("queue", 1), job("handler", 2)];
  expect(await deliver([queued, handled], deliveryContext())).toEqual([done, done]);
  expect(told[1]?.[0]).toBe(queued);
  expect(told[2]?.[0]).toBe(handled);
  expect(await deliver([], deliveryContext())).toEqual([]);
  expect(told).toHaveLength(3);
});

test("a missing outcome counts as a failure, and a kind of target without jobs is not called", async () => {
  const silent = async () => [];
  const never = async () => {
    throw new Error("A target without jobs was called.");
  };
  const deliver = deliverTo({ queue: silent, event: never, handler: never, webhook: never, lambda: never });
  expect(await deliver([job("queue", 1)], deliveryContext())).toMatchObject([
    { kind: "failed", giveUp: false },
  ]);
  const both = deliverTo({ queue: silent, event: never, handler: silent, webhook: never, lambda: never });
  expect(await both([job("queue", 1), job("handler", 2)], deliveryContext())).toMatchObject([
    { kind: "failed", giveUp: false },
    { kind: "failed", giveUp: false },
  ]);
});

test("a job whose target is for other keys is dead and not sent, and the other jobs of its parcel are delivered", async () => {
  const sent: string[] = [];
  const answering = async (jobs: readonly { key: string }[]) => {
    sent.push(...jobs.map(({ key }) => key));
    return jobs.map(() => done);
  };
  const never = async () => [];
  const deliver = deliverTo(
    { queue: answering, event: never, handler: never, webhook: never, lambda: never },
    [parseTargetPrefix("good:=queue/q")],
  );
  const keyed = (key: string) => claimedJob(targetShape.parse({ queue: "q" }), { key });
  expect(await deliver([keyed("good:a"), keyed("evil:b"), keyed("good:c")], deliveryContext())).toMatchObject(
    [
      { kind: "done" },
      {
        kind: "failed",
        giveUp: true,
        error: "target.queue is for schedules with other keys alone (targetPrefixes).",
      },
      { kind: "done" },
    ],
  );
  expect(sent).toEqual(["good:a", "good:c"]);
});
