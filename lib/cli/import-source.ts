import { canonicalTimezone } from "../cadence/zone/timezone.ts";
import type { Call } from "./command.ts";
import { UsageFault } from "./fault.ts";
import { readCrontabs } from "./formats/crontab.ts";
import { isOfEventBridge, readEventBridge } from "./formats/eventbridge.ts";
import type { Found, Reading } from "./formats/found.ts";
import { jsonValues } from "./formats/json-values.ts";
import { neighbourForms, neighbourOf, neighbours } from "./formats/neighbours/neighbours.ts";
import { readVercel } from "./formats/neighbours/vercel.ts";
import { isScheduleFile, readScheduleFiles } from "./formats/schedule-files.ts";
import { readSource, type Source } from "./formats/source-files.ts";
import { oneOf } from "./schedule-filter.ts";

type ImportCall = Pick<Call, "given" | "read" | "words" | "out">;

const forms = ["crontab", "eventbridge", "vercel", "dir", ...neighbourForms] as const;
type Form = (typeof forms)[number];

/** Reads the schedules to import, in any of the forms. */
export async function readImport({ given, read, words, out }: ImportCall): Promise<Found[]> {
  const [name = ""] = words;
  const asked = oneOf(given.text("from"), forms, "--from");
  const source = await readSource({ read }, name, (file) => !isBackup(file));
  const form = asked ?? formOf(source);
  if (asked === undefined) out.note(`Read as ${form}; --from chooses another form.`);
  const { found, notes } = readAs(form, source, { given, words });
  for (const note of notes) out.note(out.paint(note, "yellow"));
  const prefix = given.text("prefix") ?? "";
  return found.map((each) => (each.key === null ? each : { ...each, key: prefix + each.key }));
}

/** Backup files, which cron also skips in its own directories. */
function isBackup(name: string): boolean {
  return /~$|\.(bak|orig|swp|dpkg-[a-z]+|rpm[a-z]+)$/.test(name);
}

function readAs(form: Form, source: Source, { given, words }: Pick<ImportCall, "given" | "words">): Reading {
  const named = given.text("target");
  const target = named === undefined ? undefined : targetFromText(named);
  const timezone = zoneFrom(given.text("timezone"));
  switch (form) {
    case "crontab": {
      if (target === undefined)
        throw new UsageFault(
          "Carillon runs no shell: give the target of a crontab's commands with --target.",
        );
      const system = given.flag("system") || isSystemPath(words[0] ?? "");
      return readCrontabs(source.files, { target, timezone, system });
    }
    case "vercel": {
      const baseUrl = baseUrlFrom(given.text("base-url"));
      if (target === undefined && baseUrl === undefined)
        throw new UsageFault(
          "vercel.json has paths alone: give the address of the deployment with --base-url, or another target with --target.",
        );
      return readVercel(scheduleFilesOf(source), { target, baseUrl });
    }
    case "eventbridge":
      return readEventBridge(source.files, { target });
    case "dir": {
      const reading = readScheduleFiles({ files: scheduleFilesOf(source) });
      return { ...reading, found: reading.found.map((each) => completed(each, { timezone, target })) };
    }
    default: {
      if (target === undefined)
        throw new UsageFault(
          `Carillon runs no jobs of ${form} itself: give the target that runs them with --target.`,
        );
      const environment = given.text("environment");
      return neighbours[form].read(scheduleFilesOf(source), { target, timezone, environment });
    }
  }
}

function scheduleFilesOf({ files, isDirectory }: Source): Source["files"] {
  return isDirectory ? files.filter(({ name }) => isScheduleFile(name)) : files;
}

function baseUrlFrom(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const isBase = /^https?:\/\/[^/?#\s]+\/?$/i.test(text) && URL.canParse(text);
  if (isBase) return text;
  throw new UsageFault(
    `--base-url takes an address without a path, such as https://app.example.com; ${JSON.stringify(text)} is not one.`,
  );
}

/** Fills in the options where a schedule has no value of its own. */
function completed(
  found: Found,
  beside: { timezone: string | undefined; target: Found["body"] | undefined },
): Found {
  const { timezone, target } = beside;
  const defaults = {
    ...(timezone === undefined ? {} : { timezone }),
    ...(target === undefined ? {} : { target }),
  };
  return { ...found, body: { ...defaults, ...found.body } };
}

/**
 * The forms are `queue:reports`, `handler:greet`, `webhook:https://…`, `event:bus` and
 * `lambda:name`.
 */
function targetFromText(text: string): Found["body"] {
  const [, kind = "", name = ""] = /^([a-z]+)(?::(.*))?$/s.exec(text) ?? [];
  if (kind === "event") return { event: name === "" ? {} : { bus: name } };
  if (name !== "") {
    if (kind === "queue") return { queue: name };
    if (kind === "handler") return { handler: name };
    if (kind === "webhook") return { webhook: { url: name } };
    if (kind === "lambda") return { lambda: name };
  }
  throw new UsageFault(
    "--target takes queue:<name>, handler:<name>, webhook:<url>, lambda:<name> or event:<bus>.",
  );
}

function zoneFrom(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const canonical = canonicalTimezone(name);
  if (canonical !== null) return canonical;
  throw new UsageFault(`--timezone takes the name of an IANA time zone; ${JSON.stringify(name)} is not one.`);
}

function isSystemPath(name: string): boolean {
  return /^\/etc\/(crontab|cron\.d(\/.*)?)$/.test(name);
}

function formOf(source: Source): Form {
  const { files, isDirectory } = source;
  const isAws = files.some(({ text }) => jsonValues(text)?.some(isOfEventBridge) === true);
  if (isAws) return "eventbridge";
  const neighbour = neighbourOf(scheduleFilesOf(source).filter(mayBeDocument));
  if (neighbour !== null) return neighbour;
  if (files.some(({ name, text }) => isScheduleFile(name) || (!isDirectory && isJsonOrYaml(text))))
    return "dir";
  return "crontab";
}

function mayBeDocument({ name, text }: Source["files"][number]): boolean {
  return isScheduleFile(name) || isJsonOrYaml(text);
}

/**
 * Whether a text is JSON or YAML and not a crontab. In a crontab, a line that runs a command begins
 * with a digit, `*` or `@`, and a setting contains `=`.
 */
function isJsonOrYaml(text: string): boolean {
  const first = text.split("\n").find((line) => !/^\s*(#|$)/.test(line)) ?? "";
  return /^\s*[[{]/.test(first) || /^(---|- |["']?[A-Za-z][^=\s]*["']?:(\s|$))/.test(first);
}
