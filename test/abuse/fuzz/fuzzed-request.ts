import type { Dice } from "../../race/seeded.ts";
import { ownPrefix, type Tokens } from "../attack.ts";
import type { Sent } from "../caller.ts";
import { corrupted, mutated } from "./mutate.ts";
import { oddHeaders, oddParts } from "./odd-values.ts";
import type { Operation } from "./operations.ts";

export interface Grammar {
  operations: readonly Operation[];
  names: readonly string[];
}

const root = "/v1/";
const methods = ["GET", "PUT", "POST", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE"];
/** Few, so that requests meet what earlier ones have stored. */
const ownNames = Array.from({ length: 50 }, (_, index) => `${ownPrefix}fuzz-${index}`);
const plainQueries: Readonly<Record<string, readonly string[]>> = {
  prefix: [`${ownPrefix}fuzz`, ownPrefix, "other:"],
  key: ownNames,
  group: ownNames,
  tag: ["orders"],
  limit: ["1", "100"],
  from: ["2026-12-01T00:00:00Z"],
  to: ["2026-12-02T00:00:00Z"],
  state: ["active", "paused", "waiting", "dead"],
  target: ["handler/greet", "queue"],
  n: ["1", "1000"],
  at: ["2026-12-01T12:00:00Z"],
  entry: ["1", "1,2,3"],
  by: ["prefix", "tag", "target", "key"],
  minutes: ["1", "1440"],
  step: ["1m", "1h"],
  lateBy: ["1m"],
  spread: ["10s"],
  timezone: ["Europe/Berlin"],
  upcoming: ["true", "false"],
  dryRun: ["true"],
  outcome: ["ran", "held", "planned"],
};

/** A request that is valid but for a few places, drawn from the operations of the API. */
export function fuzzedRequest({ operations, names }: Grammar, tokens: Tokens, dice: Dice): Sent {
  const operation = dice.pick(operations);
  const body = operation.example === undefined ? undefined : bodyOf(operation.example, names, dice);
  return {
    method: dice.chance(0.03) ? dice.pick(methods) : operation.method,
    path: `${pathOf(operation, dice)}${queryOf(operation.queries, dice)}`,
    token: tokenOf(operation, tokens, dice),
    headers: headersOf(dice),
    ...(body === undefined ? {} : { body }),
  };
}

/** One that may do it, or any. */
function tokenOf({ path, scope }: Operation, tokens: Tokens, dice: Dice): string {
  const { write, admin, read, owner } = tokens;
  if (dice.chance(0.1)) return dice.pick([write, admin, read]);
  // Teams share these, so a token with a prefix may not change them.
  if (/^\/v1\/(calendars|limits|zone-data)\b/.test(path)) return owner;
  if (scope === "admin") return admin;
  return scope === "write" ? dice.pick([write, admin]) : dice.pick([write, admin, read]);
}

function pathOf({ path, shown }: Operation, dice: Dice): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (dice.chance(0.1)) return dice.pick(oddParts);
    const isName = name === "key" || name === "name";
    return encodeURIComponent(isName || dice.chance(0.3) ? dice.pick(ownNames) : (shown[name] ?? "1"));
  });
  // Other paths than those of the API are the page's.
  if (!filled.startsWith(root) || !dice.chance(0.02)) return filled;
  const at = dice.between(root.length, filled.length);
  return `${filled.slice(0, at)}${dice.pick(oddParts)}${filled.slice(at)}`;
}

function queryOf(queries: Operation["queries"], dice: Dice): string {
  const chosen = queries
    .filter(({ required }) => dice.chance(required ? 0.95 : 0.15))
    .map(({ name }) => `${name}=${queryValue(name, dice)}`);
  if (dice.chance(0.03)) chosen.push(`${dice.pick(oddParts)}=${dice.pick(oddParts)}`);
  return chosen.length === 0 ? "" : `?${chosen.join("&")}`;
}

function queryValue(name: string, dice: Dice): string {
  const plain = plainQueries[name];
  if (plain === undefined || dice.chance(0.15)) return dice.pick(oddParts);
  return encodeURIComponent(dice.pick(plain));
}

function headersOf(dice: Dice): Record<string, string> {
  if (!dice.chance(0.1)) return {};
  const name = dice.pick(Object.keys(oddHeaders));
  return { [name]: dice.pick(oddHeaders[name] ?? [""]) };
}

function bodyOf(example: unknown, names: readonly string[], dice: Dice): string | Buffer {
  let value = ofAttacker(example, dice);
  for (let count = dice.pick([0, 0, 1, 1, 2, 4]); count > 0; count--) value = mutated(value, names, dice);
  const text = JSON.stringify(value) ?? "";
  return dice.chance(0.07) ? corrupted(text, dice) : text;
}

const keyFields: ReadonlySet<string> = new Set(["key", "group", "prefix", "delete"]);

/** The example with keys under the attacker's prefix, and targets without an address of another host. */
function ofAttacker(value: unknown, dice: Dice): unknown {
  if (Array.isArray(value)) return value.map((each) => ofAttacker(each, dice));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => {
      if (keyFields.has(name) && typeof inner === "string")
        return [name, name === "prefix" ? `${ownPrefix}fuzz` : dice.pick(ownNames)];
      if (name === "target" && typeof inner === "object")
        return [name, dice.pick([{ handler: "greet" }, { queue: "fuzz" }])];
      if (name === "payload") return [name, { name: "Ann" }];
      return [name, ofAttacker(inner, dice)];
    }),
  );
}
