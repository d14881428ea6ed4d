import type postgres from "postgres";
import { readInstant } from "./instants.ts";
import { jsonOf, textOf } from "./written.ts";

type ElementText = { parse: (text: string) => unknown; write: (value: unknown) => string };

const asText: ElementText = { parse: (text) => text, write: textOf };
const asNumber: ElementText = { parse: Number, write: textOf };
const asBoolean: ElementText = {
  parse: (text) => text === "t",
  write: (value) => (value === true ? "t" : "f"),
};
const asInstant: ElementText = {
  parse: readInstant,
  write: (value) => (value instanceof Date ? value.toISOString() : textOf(value)),
};
const asJson: ElementText = { parse: (text) => JSON.parse(text), write: jsonOf };
const asBytes: ElementText = {
  parse: (text) => Buffer.from(text.slice(2), "hex"),
  write: (value) => `\\x${value instanceof Uint8Array ? Buffer.from(value).toString("hex") : textOf(value)}`,
};

const elementTypes: { name: string; oid: number; arrayOid: number; text: ElementText }[] = [
  { name: "bool", oid: 16, arrayOid: 1000, text: asBoolean },
  { name: "bytea", oid: 17, arrayOid: 1001, text: asBytes },
  { name: "int8", oid: 20, arrayOid: 1016, text: asText },
  { name: "int2", oid: 21, arrayOid: 1005, text: asNumber },
  { name: "int4", oid: 23, arrayOid: 1007, text: asNumber },
  { name: "text", oid: 25, arrayOid: 1009, text: asText },
  { name: "float4", oid: 700, arrayOid: 1021, text: asNumber },
  { name: "float8", oid: 701, arrayOid: 1022, text: asNumber },
  { name: "varchar", oid: 1043, arrayOid: 1015, text: asText },
  { name: "date", oid: 1082, arrayOid: 1182, text: asInstant },
  { name: "timestamptz", oid: 1184, arrayOid: 1185, text: asInstant },
  { name: "numeric", oid: 1700, arrayOid: 1231, text: asText },
  { name: "uuid", oid: 2950, arrayOid: 2951, text: asText },
  { name: "jsonb", oid: 3802, arrayOid: 3807, text: asJson },
];

/**
 * How the driver reads and writes arrays. By default it queries the server for its array types
 * after each connect, and does not catch the failure of that query: a connection killed at that
 * moment ends the process. The built-in types have fixed numbers, so no query is needed.
 */
const arrayTypes: Record<string, postgres.PostgresType> = Object.fromEntries(
  elementTypes.map(({ name, arrayOid, text }) => [
    `${name}Array`,
    {
      to: arrayOid,
      from: [arrayOid],
      serialize: (value: unknown) => (Array.isArray(value) ? writeArray(value, text.write) : textOf(value)),
      parse: (value: string) => parseArray(value, text.parse),
    },
  ]),
);

/**
 * How the driver writes values, by the type that the server expects. None of these functions fails:
 * the server refuses a value that does not fit its type, and so fails the right statement. If a
 * value cannot be written while it is sent, the driver fails another statement.
 */
export const valueTypes: Record<string, postgres.PostgresType> = {
  ...arrayTypes,
  string: { to: 25, from: [], serialize: textOf, parse: (text: string) => text },
  number: { to: 0, from: [21, 23, 26, 700, 701], serialize: textOf, parse: Number },
  json: { to: 114, from: [114, 3802], serialize: jsonOf, parse: (text: string) => JSON.parse(text) },
  date: { to: 1184, from: [1082, 1114, 1184], serialize: instantOf, parse: readInstant },
  bytea: {
    to: 17,
    from: [17],
    serialize: bytesOf,
    parse: (text: string) => Buffer.from(text.slice(2), "hex"),
  },
};

/** Postgres takes dates that have no `Date` in JavaScript, such as `infinity`. */
function instantOf(value: unknown): string {
  const date = value instanceof Date || typeof value === "number" ? new Date(value) : new Date(textOf(value));
  return Number.isNaN(date.getTime()) ? textOf(value) : date.toISOString();
}

/** Any value but bytes and text becomes a text that is no bytea, so the server refuses it. */
function bytesOf(value: unknown): string {
  if (value instanceof Uint8Array || typeof value === "string")
    return `\\x${Buffer.from(value).toString("hex")}`;
  return `\\x (${typeof value})`;
}

/**
 * An array whose text is a Postgres array, for types that the driver does not know, such as the
 * enums of Carillon. As a json value it is still an array.
 */
export function sendable(values: readonly unknown[]): unknown[] {
  const copy = [...values];
  Object.defineProperty(copy, "toString", { value: () => writeArray(values, writeAny) });
  return copy;
}

export function arrayOid(elementOid: number): number {
  const found = elementTypes.find((type) => type.oid === elementOid);
  if (found === undefined)
    throw new Error(`The type ${elementOid} has no array type that Carillon knows; cast in SQL instead.`);
  return found.arrayOid;
}

function writeAny(value: unknown): string {
  if (value instanceof Date) return asInstant.write(value);
  if (value instanceof Uint8Array) return asBytes.write(value);
  if (typeof value === "boolean") return asBoolean.write(value);
  return typeof value === "object" ? asJson.write(value) : textOf(value);
}

function writeArray(values: readonly unknown[], write: (value: unknown) => string): string {
  const elements = values.map((value) => {
    if (value === null || value === undefined) return "NULL";
    if (Array.isArray(value)) return writeArray(value, write);
    const text = write(value);
    if (typeof value === "number" || typeof value === "boolean" || value instanceof Date) return text;
    return /["\\]/.test(text) ? `"${text.replace(/["\\]/g, "\\$&")}"` : `"${text}"`;
  });
  return `{${elements.join(",")}}`;
}

// One token: an opening or closing brace, a quoted element, or a bare one. Only commas are between
// tokens.
const TOKEN = /[{}]|"((?:[^"\\]|\\.)*)"|[^{},"]+/gs;

function parseArray(text: string, parse: (text: string) => unknown): unknown[] {
  const whole: unknown[] = [];
  const open: unknown[][] = [whole];
  // Array bounds other than 1 come first, as in [0:2]={…}; they do not matter here.
  for (const [token, quoted] of text.slice(text.indexOf("{")).matchAll(TOKEN)) {
    const current = open.at(-1) ?? whole;
    if (token === "{") {
      const inner: unknown[] = [];
      current.push(inner);
      open.push(inner);
    } else if (token === "}") open.pop();
    else if (quoted !== undefined) current.push(parse(quoted.replace(/\\(.)/gs, "$1")));
    else current.push(token === "NULL" ? null : parse(token));
  }
  const [outermost] = whole;
  return Array.isArray(outermost) ? outermost : [];
}
