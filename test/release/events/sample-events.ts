import type { LifecycleEvent } from "../../../lib/config/lifecycle-events.ts";
import { lifecycleEvents } from "../../../lib/config/lifecycle-events.ts";
import { detailTypeOf, lifecycleEnvelope } from "../../../lib/lifecycle/lifecycle-envelope.ts";
import type { OutboxEvent } from "../../../lib/lifecycle/outbox.ts";
import type { TestCarillon } from "../../../lib/tools/testing/test-carillon.ts";

/** A message of each kind that code of users receives, by the name of the kind. */
export type SampleEvents = Readonly<Record<string, unknown>>;

/** The moment at which the clock of the samples begins. */
export const samplesBegin = "2026-03-02T10:00:00.000Z";

const secret = `whsec_${Buffer.alloc(32, "k").toString("base64")}`;
const targets = {
  "message of a job": { queue: "carillon-target-a" },
  "message of a job in a FIFO queue": { queue: "carillon-target-a.fifo" },
  "event of a job": { event: { bus: "default" } },
  "webhook of a job": { webhook: { url: "https://example.com/hook", secret } },
  "invocation of a job": { lambda: "carillon-target-a" },
};
const pulses = {
  "message of a pulse": { queue: "carillon-target-a" },
  "message of a batch of pulses": { queue: "carillon-target-a", batch: 10 },
  "event of a pulse": { event: { bus: "default" } },
};

/** Sends the samples through the functions of the test kit, whose clock begins at the moment above. */
export async function sampleEvents(carillon: TestCarillon): Promise<SampleEvents> {
  const samples = {
    ...(await sent(carillon, targets, {})),
    ...(await sent(carillon, pulses, { delivery: "pulse" })),
  };
  return { ...samples, ...lifecycleSamples() };
}

/** One sample after the other: a batch of pulses has no key by which it could be told from others. */
async function sent(carillon: TestCarillon, all: object, more: object): Promise<Record<string, unknown>> {
  const samples: Record<string, unknown> = {};
  for (const [index, [name, target]] of Object.entries(all).entries()) {
    const key = `sample:${index}`;
    const before = carillon.deliveries().length;
    await carillon.put(key, { when: "every 1m", spread: "0s", payload: { n: 1 }, target, ...more });
    await carillon.advance("1m");
    await carillon.delete(key);
    const [delivery, ...others] = carillon.deliveries().slice(before);
    if (delivery === undefined || others.length > 0)
      throw new Error(`${name} arrived ${others.length + (delivery ? 1 : 0)} times.`);
    const { at: _at, key: _key, payload: _payload, ...sample } = delivery;
    samples[name] = sample;
  }
  return samples;
}

function lifecycleSamples(): Record<string, unknown> {
  const single = lifecycleEvents.map((event) => [event, {}] as const);
  const range = { reason: "outage", from: samplesBegin, to: samplesBegin, count: 3, more: false };
  const many = { ...range, count: null, more: true };
  const all: (readonly [LifecycleEvent, Partial<OutboxEvent>])[] = [
    ...single,
    ["missed", { passed: { ...range, count: 1 } }],
    ["missed", { passed: range }],
    ["skipped", { passed: many, dueAt: null, version: null }],
  ];
  return Object.fromEntries(
    all.map(([name, parts]) => {
      const event = { ...outboxEvent, event: name, ...parts };
      const { passed } = event;
      const of =
        passed === null
          ? "a job"
          : passed.count === 1
            ? "an occurrence"
            : `${passed.count ?? "many"} occurrences`;
      return [
        `${detailTypeOf(event)} of ${of}`,
        {
          detailType: detailTypeOf(event),
          detail: JSON.parse(lifecycleEnvelope(event, new Date(samplesBegin))),
        },
      ];
    }),
  );
}

const outboxEvent: OutboxEvent = {
  id: "1",
  event: "dead",
  at: new Date(samplesBegin),
  scheduleId: "7",
  occurrence: new Date(samplesBegin),
  kind: "cadence",
  n: 0,
  attempt: 1,
  passed: null,
  key: "orders:17",
  group: "orders",
  version: 1,
  dueAt: new Date(samplesBegin),
  reason: "attempts",
  error: "TypeError: no such order",
  errorClass: "TypeError",
};
