import type { Times } from "../times.ts";
import { type Paint, painter } from "./style.ts";
import { type Column, tableLines } from "./table.ts";

/** Where it is printed to. */
export interface Terminal {
  write(text: string): void;
  /** For people who wait, and for what is no result. */
  note(text: string): void;
  isTty: boolean;
  /** Undefined where lines may be as long as they like. */
  width: number | undefined;
}

/** What a command prints: tables and lines for people, JSON for machines. */
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

  /** One JSON value to a line. */
  json(value: unknown): void {
    this.#terminal.write(`${JSON.stringify(value)}\n`);
  }

  line(text = ""): void {
    this.#terminal.write(`${text}\n`);
  }

  /** On stderr: progress, hints, and that there is more. */
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

  /** Names and values, one to a line; what has no value is left out. */
  facts(facts: readonly (readonly [string, string | null | undefined])[]): void {
    const shown = facts.flatMap(([name, value]) =>
      value === null || value === undefined || value === "" ? [] : [[name, value] as const],
    );
    const width = Math.max(0, ...shown.map(([name]) => name.length));
    for (const [name, value] of shown) this.line(`${this.paint(name.padEnd(width), "dim")}  ${value}`);
  }
}
