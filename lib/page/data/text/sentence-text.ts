import { clockText, dateText } from "../time/zone.ts";

/** An instant, or a name of the API between backticks, in a sentence of the server. */
export const marked = /\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z|`([^`]+)`/g;

/** An instant with its date, which a text that is read elsewhere and later needs. */
const dated = (at: number, zone: string) => `${dateText(at, zone)} ${clockText(at, zone)}`;

interface Explained {
  key: string;
  at: string;
  sentence: string;
}

/** An explanation to be pasted: `reports:daily, 2026-03-02 09:00:00 Europe/Berlin: Did not run: …`. */
export function explainedText({ key, at, sentence }: Explained, zone: string): string {
  const plain = sentence.replaceAll(marked, (whole, name?: string) => name ?? dated(Date.parse(whole), zone));
  return `${key}, ${dated(Date.parse(at), zone)} ${zone}: ${plain}`;
}
