import { escaped } from "../../log/unprintable.ts";
import type { Times } from "../times.ts";
import { type Paint, painter } from "./style.ts";
import { type Column, tableLines } from "./table.ts";

/** Where a command prints to. */
export interface Terminal {
  write(text: string): void;
  /** Prints to stderr: progress and hints. */
  note(text: string): void;
  isTty: boolean;
  /** The width of lines; undefined for no limit. */
  width: number | undefined;
}

/** The output of a command: tables and lines for people, JSON for machines. */
export class Output {
  readonly isJson: boolean;
  readonly paint: Paint;
  readonly times: Times;
  readonly #terminal: Terminal;

  constructor(
    terminal: Terminal,
    { json, colours, times }: { json: boolean; colours: boolean; times: Times },
  ) {
    this.#terminal = terminal;
    this.isJson = json;
    this.paint = painter(colours && !json);
    this.times = times;
  }

  /** One JSON value per line, also on a terminal: so it holds nothing that a terminal obeys. */
  json(value: unknown): void {
    this.#terminal.write(`${escaped(JSON.stringify(value))}\n`);
  }

  line(text = ""): void {
    this.#terminal.write(`${text}\n`);
  }

  /** Prints to stderr: progress, hints, and that there are more entries. */
  note(text: string): void {
    this.#terminal.note(`${text}\n`);
  }

  table<Row>(columns: readonly Column<Row>[], rows: readonly Row[], empty: string): void {
    if (this.isJson) {
      for (const row of rows) this.json(row);
      return;
    }
    if (rows.length === 0) this.note(empty);
    else
      for (const line of tableLines(columns, rows, { width: this.#terminal.width, paint: this.paint }))
        this.line(line);
  }

  /** Names and values, one per line; empty values are left out. */
  facts(facts: readonly (readonly [string, string | null | undefined])[]): void {
    const shown = facts.flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, value] as const],
    );
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, value] of shown) this.line(`${this.paint(name.padEnd(width), "dim")}  ${value}`);
  }
}
