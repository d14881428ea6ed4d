import { mkdirSync } from "node:fs";
import path from "node:path";
import { DatabaseSync, type SQLOutputValue } from "node:sqlite";
import type { InputTransformer } from "./input-transformer.ts";

export interface BusEvent {
  version: "0";
  id: string;
  "detail-type": string;
  source: string;
  account: string;
  time: string;
  region: string;
  resources: string[];
  detail: unknown;
}

/** An accepted event, with the rules of its bus that it matched. */
export type Arrival = BusEvent & { bus: string; arrivedAt: string; rules: string[] };

export interface Rule {
  bus: string;
  name: string;
  pattern: string;
  enabled: boolean;
  description: string | null;
}

export interface Target {
  id: string;
  arn: string;
  /**
   * The text sent instead of the event: fixed, one part of the event, or a template with parts of
   * it.
   */
  input: string | null;
  inputPath: string | null;
  inputTransformer: InputTransformer | null;
  messageGroupId: string | null;
}

export interface BusStore {
  putRule(rule: Rule): void;
  deleteRule(bus: string, name: string): void;
  rule(bus: string, name: string): Rule | undefined;
  rules(bus: string): Rule[];
  putTarget(bus: string, rule: string, target: Target): void;
  removeTarget(bus: string, rule: string, id: string): boolean;
  targets(bus: string, rule: string): Target[];
  addArrivals(arrivals: readonly Arrival[]): void;
  /** Newest first, with no more text than fits in memory. */
  arrivals(limit: number): Arrival[];
  close(): void;
}

const arrivalsKept = 1_000;
const answerBytesMax = 16_000_000;

const schema = `
  pragma journal_mode = wal;
  pragma synchronous = normal;
  pragma foreign_keys = on;
  create table if not exists rules (
    bus text, name text, pattern text not null, enabled integer not null, description text, primary key (bus, name)) strict;
  create table if not exists targets (
    bus text, rule text, id text, arn text not null, input text, input_path text, message_group_id text,
    primary key (bus, rule, id), foreign key (bus, rule) references rules (bus, name)) strict;
  create table if not exists arrivals (number integer primary key, arrival text not null) strict;`;

/** A bus's data that survives a restart: its rules with their targets, and the last events. */
export function openBusStore(dataDir: string): BusStore {
  mkdirSync(dataDir, { recursive: true });
  const db = new DatabaseSync(path.join(dataDir, "events.db"));
  db.exec(schema);
  addTransformers(db);
  return { ...ruleTable(db), ...targetTable(db), ...arrivalTable(db), close: () => db.close() };
}

/** Adds the column to a table of targets from a release without transformers. */
function addTransformers(db: DatabaseSync): void {
  const columns = db.prepare("select name from pragma_table_info('targets')").all();
  if (!columns.some((column) => column["name"] === "input_transformer"))
    db.exec("alter table targets add column input_transformer text");
}

function ruleTable(db: DatabaseSync): Pick<BusStore, "putRule" | "deleteRule" | "rule" | "rules"> {
  const put = db.prepare(`insert into rules (bus, name, pattern, enabled, description) values (?, ?, ?, ?, ?)
    on conflict do update set pattern = excluded.pattern, enabled = excluded.enabled, description = excluded.description`);
  const drop = db.prepare("delete from rules where bus = ? and name = ?");
  const ofBus = db.prepare("select * from rules where bus = ? order by name");
  const rules = (bus: string) => ofBus.all(bus).map(toRule);
  return {
    putRule: (rule) => put.run(rule.bus, rule.name, rule.pattern, rule.enabled ? 1 : 0, rule.description),
    deleteRule: (bus, name) => drop.run(bus, name),
    rule: (bus, name) => rules(bus).find((rule) => rule.name === name),
    rules,
  };
}

function targetTable(db: DatabaseSync): Pick<BusStore, "putTarget" | "removeTarget" | "targets"> {
  const put =
    db.prepare(`insert or replace into targets (bus, rule, id, arn, input, input_path, input_transformer, message_group_id)
    values (?, ?, ?, ?, ?, ?, ?, ?)`);
  const drop = db.prepare("delete from targets where bus = ? and rule = ? and id = ?");
  const ofRule = db.prepare("select * from targets where bus = ? and rule = ? order by id");
  return {
    putTarget: (bus, rule, { id, arn, input, inputPath, inputTransformer, messageGroupId }) =>
      put.run(
        bus,
        rule,
        id,
        arn,
        input,
        inputPath,
        inputTransformer === null ? null : JSON.stringify(inputTransformer),
        messageGroupId,
      ),
    removeTarget: (bus, rule, id) => Number(drop.run(bus, rule, id).changes) > 0,
    targets: (bus, rule) => ofRule.all(bus, rule).map(toTarget),
  };
}

function arrivalTable(db: DatabaseSync): Pick<BusStore, "addArrivals" | "arrivals"> {
  const add = db.prepare("insert into arrivals (arrival) values (?)");
  const trim = db.prepare(
    `delete from arrivals where number <= (select max(number) from arrivals) - ${arrivalsKept}`,
  );
  const newest = db.prepare("select arrival from arrivals order by number desc limit ?");
  return {
    addArrivals: (arrivals) => {
      db.exec("begin");
      for (const arrival of arrivals) add.run(JSON.stringify(arrival));
      trim.run();
      db.exec("commit");
    },
    arrivals: (limit) => {
      const found: Arrival[] = [];
      let bytes = 0;
      for (const row of newest.iterate(limit)) {
        const arrival = text(row["arrival"]);
        bytes += arrival.length;
        if (bytes > answerBytesMax) break;
        found.push(JSON.parse(arrival));
      }
      return found;
    },
  };
}

type Row = Record<string, SQLOutputValue>;

function toRule(row: Row): Rule {
  return {
    bus: text(row["bus"]),
    name: text(row["name"]),
    pattern: text(row["pattern"]),
    enabled: row["enabled"] === 1,
    description: textOrNull(row["description"]),
  };
}

function toTarget(row: Row): Target {
  return {
    id: text(row["id"]),
    arn: text(row["arn"]),
    input: textOrNull(row["input"]),
    inputPath: textOrNull(row["input_path"]),
    inputTransformer: JSON.parse(textOrNull(row["input_transformer"]) ?? "null"),
    messageGroupId: textOrNull(row["message_group_id"]),
  };
}

function text(value: SQLOutputValue | undefined): string {
  return String(value ?? "");
}

function textOrNull(value: SQLOutputValue | undefined): string | null {
  return typeof value === "string" ? value : null;
}
