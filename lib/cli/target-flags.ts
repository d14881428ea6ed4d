import type { Json } from "../client/main.ts";
import type { Call, OptionSpec } from "./command.ts";
import { UsageFault } from "./fault.ts";

/** The target of a job: one of five kinds, with the options of that kind. */
export const targetOptions = {
  handler: { value: "name", about: "Target: a handler, code of this project" },
  queue: { value: "queue", about: "Target: an SQS queue, by name, URL or ARN" },
  event: { value: "bus", about: "Target: an event bus, such as `default`" },
  webhook: { value: "url", about: "Target: an HTTPS request" },
  lambda: { value: "function", about: "Target: a function, by name or ARN" },
  "group-id": { value: "id", about: "For a queue: the message group of a FIFO queue" },
  batch: { value: "n", about: "For a queue: the most pulses in one message" },
  source: { value: "source", about: "For an event: its source" },
  "detail-type": { value: "type", about: "For an event: its detail-type" },
  method: { value: "method", about: "For a webhook: POST or PUT" },
  header: {
    value: "name: value",
    multiple: true,
    about: "For a webhook: a header; `@file` reads headers from a file, one per line",
  },
  "secret-file": { value: "file", about: "For a webhook: a file with the secret that signs it (whsec_…)" },
  invocation: { value: "how", about: "For a function: async or sync" },
} as const satisfies Record<string, OptionSpec>;

type TargetCall = Call<keyof typeof targetOptions>;

const belongsTo = {
  "group-id": "queue",
  batch: "queue",
  source: "event",
  "detail-type": "event",
  method: "webhook",
  header: "webhook",
  "secret-file": "webhook",
  invocation: "lambda",
} as const;

/** Undefined where no option names a target. */
export async function targetFrom(call: TargetCall): Promise<Json | undefined> {
  const { given } = call;
  const kinds = (["handler", "queue", "event", "webhook", "lambda"] as const).filter((kind) =>
    given.flag(kind),
  );
  const [kind] = kinds;
  if (kinds.length > 1)
    throw new UsageFault(
      `A schedule has exactly one target; ${kinds.map((each) => `--${each}`).join(" and ")} are two.`,
    );
  for (const [option, owner] of Object.entries(belongsTo))
    if (isOption(option) && given.flag(option) && owner !== kind)
      throw new UsageFault(`--${option} needs --${owner}.`);
  return kind === undefined ? undefined : written(call, kind);
}

async function written(
  call: TargetCall,
  kind: "handler" | "queue" | "event" | "webhook" | "lambda",
): Promise<Json> {
  const { given } = call;
  const named = given.text(kind) ?? "";
  switch (kind) {
    case "handler":
      return { handler: named };
    case "queue":
      return defined({
        queue: named,
        groupId: given.text("group-id"),
        batch: given.number("batch", { min: 1 }),
      });
    case "event":
      return {
        event: defined({ bus: named, source: given.text("source"), detailType: given.text("detail-type") }),
      };
    case "webhook": {
      const headers = await headersFrom(call);
      const file = given.text("secret-file");
      const secret = file === undefined ? undefined : (await call.read(file)).trim();
      return { webhook: defined({ url: named, method: given.text("method"), headers, secret }) };
    }
    case "lambda":
      return defined({ lambda: named, invocation: given.text("invocation") });
  }
}

async function headersFrom(call: TargetCall): Promise<{ [name: string]: Json } | undefined> {
  const texts = call.given.texts("header");
  if (texts.length === 0) return undefined;
  const headers: { [name: string]: Json } = {};
  for (const text of texts) {
    const lines = text.startsWith("@") ? (await call.read(text.slice(1))).split("\n") : [text];
    for (const line of lines.map((each) => each.trim()).filter((each) => each !== "")) {
      const [, name, value] = /^([^:\s]+)\s*:\s*(.*)$/.exec(line) ?? [];
      // The text may be a credential, so the message does not repeat it.
      if (name === undefined || value === undefined) throw new UsageFault("--header takes `name: value`.");
      headers[name] = value;
    }
  }
  return headers;
}

function isOption(name: string): name is keyof typeof belongsTo {
  return name in belongsTo;
}

/** Removes undefined members. */
export function defined(members: { [name: string]: Json | undefined }): { [name: string]: Json } {
  const given: { [name: string]: Json } = {};
  for (const [name, value] of Object.entries(members)) if (value !== undefined) given[name] = value;
  return given;
}
