import { randomUUID } from "node:crypto";
import type { Clock } from "../../../clock.ts";
import { errorText } from "../../../log/error-text.ts";
import type { Log } from "../../../log/log.ts";
import { localAccount, localRegion } from "../local-account.ts";
import type { Arrival, BusEvent, BusStore, Rule, Target } from "./bus-store.ts";
import { transformed } from "./input-transformer.ts";
import { compilePattern, type EventMatcher } from "./pattern.ts";

export interface QueueMessage {
  queueArn: string;
  body: string;
  messageGroupId: string | null;
}

export interface BusParts {
  store: BusStore;
  send(message: QueueMessage): Promise<void>;
  clock: Clock;
  log: Log;
}

/** An entry of PutEvents with checked fields. */
export interface Entry {
  bus: string;
  source: string;
  detailType: string;
  detail: unknown;
  time: Date | undefined;
  resources: string[];
}

export interface Bus {
  /**
   * Accepts events and returns their ids. When it resolves, they are stored, and sent to the
   * targets of all matching rules.
   */
  accept(entries: readonly Entry[]): Promise<string[]>;
  putRule(rule: Rule): void;
}

export function makeBus(parts: BusParts): Bus {
  const matchers = new Map<string, EventMatcher>();
  const matcherOf = (pattern: string) => {
    const known = matchers.get(pattern) ?? compilePattern(pattern);
    matchers.set(pattern, known);
    return known;
  };
  const matching = (event: BusEvent, bus: string) =>
    parts.store.rules(bus).filter((rule) => rule.enabled && matcherOf(rule.pattern)(event));

  return {
    accept: async (entries) => {
      const now = parts.clock.now();
      const accepted = entries.map((entry) => {
        const event = toEvent(entry, now);
        return { event, bus: entry.bus, rules: matching(event, entry.bus) };
      });
      parts.store.addArrivals(accepted.map(({ event, bus, rules }) => toArrival(event, bus, rules, now)));
      const deliveries = accepted.flatMap(({ event, rules }) =>
        rules.map((rule) => deliver(parts, event, rule)),
      );
      await Promise.all(deliveries);
      return accepted.map(({ event }) => event.id);
    },
    putRule: (rule) => {
      matcherOf(rule.pattern);
      parts.store.putRule(rule);
    },
  };
}

function toEvent(entry: Entry, now: Date): BusEvent {
  return {
    version: "0",
    id: randomUUID(),
    "detail-type": entry.detailType,
    source: entry.source,
    account: localAccount,
    time: `${(entry.time ?? now).toISOString().slice(0, 19)}Z`,
    region: localRegion,
    resources: entry.resources,
    detail: entry.detail,
  };
}

function toArrival(event: BusEvent, bus: string, rules: readonly Rule[], now: Date): Arrival {
  return { ...event, bus, arrivedAt: now.toISOString(), rules: rules.map(({ name }) => name) };
}

/** A target that fails must not fail the sender of the event; the failure is logged. */
async function deliver({ store, send, clock, log }: BusParts, event: BusEvent, rule: Rule): Promise<void> {
  for (const target of store.targets(rule.bus, rule.name)) {
    try {
      await send({
        queueArn: target.arn,
        body: bodyFor(target, event, rule, clock.now()),
        messageGroupId: target.messageGroupId,
      });
    } catch (error) {
      log.error("events.undelivered", {
        rule: rule.name,
        target: target.arn,
        event: event.id,
        error: errorText(error),
      });
    }
  }
}

function bodyFor(target: Target, event: BusEvent, { bus, name }: Rule, now: Date): string {
  if (target.input !== null) return target.input;
  if (target.inputTransformer !== null)
    return transformed(target.inputTransformer, event, {
      ruleName: name,
      ruleArn: ruleArn(bus, name),
      ingestedAt: now.toISOString(),
    });
  if (target.inputPath === null) return JSON.stringify(event);
  const names = target.inputPath.split(".").slice(1);
  const part = names.reduce<unknown>((value, name) => own(value, name), event);
  return JSON.stringify(part ?? null);
}

export function ruleArn(bus: string, rule: string): string {
  const place = bus === "default" ? rule : `${bus}/${rule}`;
  return `arn:aws:events:${localRegion}:${localAccount}:rule/${place}`;
}

function own(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}
