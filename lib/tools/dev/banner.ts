import { type Paint, printable } from "../../cli/output/style.ts";
import { cut } from "../../cli/output/table.ts";
import type { JobHandler } from "../../job/define-job.ts";
import { namesOf } from "../local/handlers/watch-handlers.ts";
import type { Stack } from "../local/stack.ts";
import { type Found, lookedFor } from "./find-files.ts";
import { inFolder } from "./load-fault.ts";

export interface BannerParts {
  stack: Pick<Stack, "urls" | "signIn">;
  /** Why the ports are not the usual ones. */
  portsWhy: string | null;
  handlers: { found: Found | null; loaded: readonly JobHandler[] };
  schedules: { found: Found | null; line: string };
  /** Private addresses that webhooks may reach. */
  webhooks: string | undefined;
  dataDir: string;
  folder: string;
  paint: Paint;
}

const valueWidth = 160;

/** The lines at the start: addresses to open, and the files that were found. */
export function banner(parts: BannerParts): string[] {
  const { stack, portsWhy, handlers, schedules, webhooks, dataDir, folder, paint } = parts;
  const { api, sqs, events } = stack.urls;
  const lines: readonly (readonly [string, string | null])[] = [
    ["page", `${stack.signIn}  (the link signs in)`],
    ["api", `${api}${portsWhy === null ? "" : `  (${portsWhy})`}`],
    ["queues", `${sqs}  (SQS)`],
    ["events", `${events}/events`],
    ["handlers", handlersText(handlers, folder)],
    ["schedules", schedulesText(schedules, folder)],
    ["webhooks", webhooks === undefined ? null : `may reach ${webhooks}`],
    ["data", dataDir],
  ];
  return lines.flatMap(([name, text]) =>
    text === null ? [] : [`${paint(name.padEnd(9), "dim")}  ${printable(text)}`],
  );
}

function handlersText({ found, loaded }: BannerParts["handlers"], folder: string): string {
  if (found === null) return `none: there is no ${lookedFor.handlers}`;
  return `${cut(namesOf(loaded), valueWidth)}, from ${placeOf(found, folder)}`;
}

function schedulesText({ found, line }: BannerParts["schedules"], folder: string): string {
  if (found === null) return `none: there is no ${lookedFor.schedules}`;
  return `${line}, from ${placeOf(found, folder)}`;
}

function placeOf({ file, unused }: Found, folder: string): string {
  const others = unused.length === 0 ? "" : `; not used: ${unused.join(", ")}`;
  return `${inFolder(file, folder)}${others}`;
}
