import type { Parts } from "../parts.ts";
import { goSeconds } from "./go-duration.ts";

interface KubernetesWhen extends Pick<Parts, "differences" | "faults"> {
  when: string;
  /** From a `CRON_TZ=` or `TZ=` within the schedule; null without one. */
  zone: string | null;
}

/**
 * Reads a schedule as the library does that Kubernetes uses (robfig/cron). A step there restricts a
 * day field, so `*` alone, `?` and `*` with the step 1 leave it open, also within a list.
 */
export function kubernetesWhen(text: string): KubernetesWhen {
  const [, named, rest = text] = /^(?:CRON_)?TZ=(\S+)\s+(.*)$/s.exec(text.trim()) ?? [];
  const zone = named ?? null;
  const differences =
    zone === null
      ? []
      : [
          "its schedule begins with a zone, which Kubernetes does not support officially: it is read as `timezone`",
        ];
  const trimmed = rest.trim();
  if (/^@every\s/.test(trimmed)) return { zone, ...everyWhen(trimmed, differences) };
  if (trimmed.startsWith("@")) return { when: trimmed, zone, differences, faults: [] };
  const when = trimmed.split(/\s+/).map(fieldText).join(" ");
  // Carillon would read more than Kubernetes allows, and mean something by it.
  const foreign = /[a-z#&]/i.exec(when.replace(/[a-z]{3}/gi, ""));
  const faults = foreign === null ? [] : [`its schedule ${JSON.stringify(text)} is not one of Kubernetes`];
  return { when, zone, differences, faults };
}

function everyWhen(text: string, differences: string[]): Omit<KubernetesWhen, "zone"> {
  const written = text.replace(/^@every\s+/, "");
  const seconds = goSeconds(written);
  if (seconds === null)
    return {
      when: text,
      differences,
      faults: [`its interval ${JSON.stringify(written)} is not a duration such as 1h30m`],
    };
  return {
    when: `every ${Math.max(1, Math.floor(seconds))}s`,
    differences: [
      ...differences,
      "it counts from its creation in Carillon; in Kubernetes from its last run there",
    ],
    faults: [],
  };
}

function fieldText(field: string): string {
  const isOpen = field.split(",").some((item) => /^[*?](\/0*1)?$/.test(item));
  return isOpen ? "*" : field.replaceAll("?", "*");
}
