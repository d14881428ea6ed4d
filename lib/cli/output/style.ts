import { unprintable } from "../../log/unprintable.ts";

export type Colour = "red" | "green" | "yellow" | "blue" | "dim" | "bold";

const codes: Readonly<Record<Colour, readonly [number, number]>> = {
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  dim: [2, 22],
  bold: [1, 22],
};

export type Paint = (text: string, colour: Colour | undefined) => string;

export function painter(colours: boolean): Paint {
  return (text, colour) => {
    if (!colours || colour === undefined || text === "") return text;
    const [on, off] = codes[colour];
    return `\u001b[${on}m${text}\u001b[${off}m`;
  };
}

const byState: Readonly<Record<string, Colour>> = {
  active: "green",
  succeeded: "green",
  ran: "green",
  running: "blue",
  paused: "yellow",
  unreadable: "yellow",
  retrying: "yellow",
  skipped: "yellow",
  dead: "red",
  ended: "dim",
  cancelled: "dim",
};

export function stateColour(state: string): Colour | undefined {
  return byState[state];
}

/**
 * Escapes texts that callers have written: control characters would control the terminal, and
 * direction marks would reorder the text.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Zl}\p{Zp}\n\r\t]+/gu, " ").replace(unprintable, "\ufffd");
}
