import { describe, expect, test } from "vitest";
import {
  type AllowedTargets,
  allowedTargetsFrom,
  refuseForbiddenChange,
  refuseForbiddenTarget,
} from "../../lib/command/allowed-targets.ts";
import { type Fault, Refusal } from "../../lib/refusal.ts";
import { type Target, targetShape } from "../../lib/schedule/shape/target-shape.ts";

const here = { AWS_REGION: "eu-central-1" };
const deployed = allowedTargetsFrom({
  ...here,
  TARGET_ACCOUNT: "123456789012",
  TARGET_QUEUES:
    "arn:aws:sqs:eu-central-1:123456789012:orders-*,arn:aws:sqs:eu-central-1:999999999999:mail.fifo",
  TARGET_BUSES: "arn:aws:events:eu-central-1:123456789012:event-bus/default",
  CARILLON_TARGET_EVENT_SOURCES: "carillon, shop.*",
  TARGET_FUNCTIONS:
    "arn:aws:lambda:eu-central-1:123456789012:function:resize,arn:aws:lambda:eu-central-1:123456789012:function:orders-*",
});
const local = allowedTargetsFrom({ ...here, CARILLON_WEBHOOK_ALLOW: "127.0.0.1:9000,receiver:80" });

function faults(work: () => void): readonly Fault[] {
  try {
    work();
  } catch (error) {
    if (error instanceof Refusal && error.kind === "impossible") return error.faults;
    throw error;
  }
  return [];
}

const faultsOf = (allowed: AllowedTargets, target: unknown) =>
  faults(() => refuseForbiddenTarget(allowed, targetShape.parse(target), "a"));

describe("a deployment with an allow-list", () => {
  test.each<unknown>([
    { queue: "orders-eu" },
    { queue: "arn:aws:sqs:eu-central-1:123456789012:orders-eu" },
    { queue: "https://sqs.eu-central-1.amazonaws.com/123456789012/orders-eu" },
    { queue: "arn:aws:sqs:eu-central-1:999999999999:mail.fifo" },
    { event: {} },
    { event: { bus: "arn:aws:events:eu-central-1:123456789012:event-bus/default" } },
    { event: { source: "shop.orders", detailType: "due" } },
    { lambda: "resize" },
    { lambda: "resize:live" },
    { lambda: "orders-eu:7" },
    { lambda: "arn:aws:lambda:eu-central-1:123456789012:function:resize:$LATEST" },
    { webhook: { url: "https://example.com/hook" } },
    { handler: "greet" },
  ])("a deployment with an allow-list accepts %j", (target) => {
    expect(faultsOf(deployed, target)).toEqual([]);
  });

  test.each<[unknown, string]>([
    [{ queue: "order" }, "target.queue"],
    [{ queue: "mail.fifo" }, "target.queue"],
    [{ queue: "arn:aws:sqs:eu-central-1:999999999999:orders-eu" }, "target.queue"],
    [{ queue: "arn:aws:sqs:eu-west-1:123456789012:orders-eu" }, "target.queue"],
    [{ queue: "https://sqs.eu-west-1.amazonaws.com/123456789012/orders-eu" }, "target.queue"],
    [{ queue: "https://sqs.eu-central-1.amazonaws.com/999999999999/orders-eu" }, "target.queue"],
    [{ event: { bus: "default2" } }, "target.event.bus"],
    [{ event: { bus: "arn:aws:events:eu-central-1:999999999999:event-bus/default" } }, "target.event.bus"],
    [{ event: { source: "shop" } }, "target.event.source"],
    [{ event: { source: "billing.shop.x" } }, "target.event.source"],
    [{ event: { source: "Carillon" } }, "target.event.source"],
    [{ event: { source: "carillon.x" } }, "target.event.source"],
    [{ lambda: "resize2" }, "target.lambda"],
    [{ lambda: "arn:aws:lambda:eu-central-1:999999999999:function:resize" }, "target.lambda"],
    [{ webhook: { url: "http://example.com/" } }, "target.webhook.url"],
    [{ webhook: { url: "https://example.com:8443/" } }, "target.webhook.url"],
    [{ webhook: { url: "https://localhost/" } }, "target.webhook.url"],
    [{ webhook: { url: "https://2130706433/" } }, "target.webhook.url"],
    [{ webhook: { url: "https://[::ffff:a9fe:a9fe]/" } }, "target.webhook.url"],
  ])("a deployment with an allow-list refuses %j", (target, path) => {
    expect(faultsOf(deployed, target).map((fault) => fault.path)).toEqual([path]);
  });

  test("a refusal of a target names the allowed ones", () => {
    expect(faultsOf(deployed, { event: { bus: "other" } })).toEqual([
      {
        path: "target.event.bus",
        message:
          "is not among the event buses that schedules may send to here: allowed are arn:aws:events:eu-central-1:123456789012:event-bus/default",
      },
    ]);
  });

  test("the faults of a bus, a source and a reserved type are named at once", () => {
    const event = { bus: "other", source: "billing", detailType: "carillon.job.dead" };
    expect(faults(() => refuseForbiddenTarget(deployed, { event }, "a")).map(({ path }) => path)).toEqual([
      "target.event.bus",
      "target.event.source",
      "target.event.detailType",
    ]);
  });

  test("a refusal of a source names the allowed ones", () => {
    expect(faultsOf(deployed, { event: { source: "billing" } })).toEqual([
      {
        path: "target.event.source",
        message:
          "is not among the sources of events that schedules may use here: allowed are carillon, shop.*",
      },
    ]);
  });

  test("a patch that leaves the target unchanged is not checked against the allow-list", () => {
    const change = (wanted: unknown, old: unknown): string[] => {
      const [target, before]: Target[] = [wanted, old].map((each) => targetShape.parse(each));
      if (target === undefined || before === undefined) throw new Error("unreachable");
      return faults(() => refuseForbiddenChange(deployed, { target, before, key: "a" })).map(
        ({ path }) => path,
      );
    };
    const secret = `whsec_${Buffer.alloc(32).toString("base64")}`;
    const url = "http://10.0.0.1/";
    expect(change({ queue: "gone" }, { queue: "gone" })).toEqual([]);
    expect(change({ webhook: { url, secret: "***" } }, { webhook: { url, secret } })).toEqual([]);
    expect(change({ queue: "gone", groupId: "a" }, { queue: "gone" })).toEqual(["target.queue"]);
    expect(change({ webhook: { url: `${url}x` } }, { webhook: { url } })).toEqual(["target.webhook.url"]);
  });
});

describe("a local stack", () => {
  test.each<unknown>([
    { queue: "anything" },
    { event: { bus: "anything" } },
    { event: { bus: "anything", source: "carillon", detailType: "anything" } },
    { lambda: "anything" },
    { webhook: { url: "http://127.0.0.1:9000/hook" } },
    { webhook: { url: "http://receiver/hook" } },
    { webhook: { url: "https://example.com/" } },
  ])("a local stack accepts %j", (target) => {
    expect(faultsOf(local, target)).toEqual([]);
  });

  test("a local stack takes events of the source carillon alone, as a deployment does by default", () => {
    expect(faultsOf(local, { event: { source: "shop" } })).toMatchObject([{ path: "target.event.source" }]);
  });

  test("a local stack lets webhooks into private networks only for hosts that it allows by name", () => {
    expect(faultsOf(local, { webhook: { url: "http://127.0.0.1:9001/" } })).toHaveLength(1);
    expect(faultsOf(local, { webhook: { url: "http://receiver:81/" } })).toHaveLength(1);
  });
});
