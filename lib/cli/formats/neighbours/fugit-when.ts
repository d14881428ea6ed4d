import { nicknames as ownNicknames } from "../../../cadence/when/parse-cron.ts";
import type { Parts } from "../parts.ts";
import { fugitFields, translateField } from "./fugit-field.ts";
import { fugitWords } from "./fugit-words.ts";

export interface FugitWhen extends Pick<Parts, "differences" | "faults"> {
  when: string;
  /** The zone behind the expression; null without one. */
  zone: string | null;
}

/** fugit has one more than Carillon. */
const nicknames: ReadonlyMap<string, string> = new Map([...ownNicknames, ["@noon", "0 12 * * *"]]);

/**
 * Reads a time as the Ruby library fugit does, which Sidekiq-cron, sidekiq-scheduler and
 * solid_queue use: cron with perhaps a zone behind it, or plain English. Text that cannot be read
 * exactly is a fault.
 */
export function fugitWhen(text: string): FugitWhen {
  const cron = cronWhen(text.trim());
  if (cron !== null) return cron;
  const words = fugitWords(text.trim());
  if (!words.ok) return faulty(text, words.fault);
  return cronWhen(words.cron) ?? faulty(text, "its words are not understood");
}

function faulty(when: string, fault: string): FugitWhen {
  return { when, zone: null, differences: [], faults: [`${JSON.stringify(when)}: ${fault}`] };
}

const zoneWord = /^(?:[A-Z][A-Za-z0-9+-]+(?:\/[A-Z][A-Za-z0-9+_-]+){0,2}|[-+]\d\d:?\d\d)$/;
const names = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|sun|mon|tue|wed|thu|fri|sat|last|l";
const fieldWord = new RegExp(`^[0-9*/,~#%&-]*(?:(?:${names})[0-9*/,~#%&-]*)*$`, "i");

/** Null for a text that is not cron. */
function cronWhen(text: string): FugitWhen | null {
  const [head = "", ...rest] = text.split(/[ \t]+/);
  if (head === "@reboot") return faulty(text, "@reboot has no time and cannot be imported");
  const words = [...(nicknames.get(head)?.split(" ") ?? [head]), ...rest];
  const zone = zoneBehind(words);
  const fields = zone === null ? words : words.slice(0, -1);
  if (fields.length < 5 || fields.length > 6 || !fields.every((field) => fieldWord.test(field))) return null;
  if (zone !== null && /^[-+]/.test(zone))
    return faulty(text, `the offset ${zone} is no time zone here: name an IANA zone`);
  const needsBoth = fields.some((field) => field.endsWith("&"));
  const shapes = fugitFields.slice(-fields.length);
  const translated = fields.map((field, index) => {
    const shape = shapes[index];
    return shape === undefined ? null : translateField(field.replace(/&$/, ""), shape);
  });
  const texts: string[] = [];
  let isRandom = false;
  for (const each of translated) {
    if (each === null || !each.ok) return faulty(text, each?.fault ?? "it has too many fields");
    texts.push(each.text);
    isRandom ||= each.isRandom;
  }
  return {
    when: `${texts.join(" ")}${needsBoth ? "&" : ""}`,
    zone,
    differences: isRandom
      ? [
          "`~`: fugit draws a value each time it reads the expression; Carillon derives a fixed value from the key",
        ]
      : [],
    faults: [],
  };
}

function zoneBehind(words: readonly string[]): string | null {
  const last = words.at(-1) ?? "";
  const isZone = words.length > 5 && zoneWord.test(last);
  return isZone && (words.length === 7 || !fieldWord.test(last)) ? last : null;
}
