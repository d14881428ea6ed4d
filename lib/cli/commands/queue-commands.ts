import type { InboxError } from "../../client/commands.ts";
import { type Call, type Command, command } from "../command.ts";
import { listOptions } from "../common-options.ts";
import { UsageFault } from "../fault.ts";
import { pageSize, someOf } from "../listed.ts";
import { printable } from "../output/style.ts";
import { counted, wholeTime } from "../output/table.ts";

const options = {
  prefix: { value: "prefix", about: "For ls: only keys that begin with this" },
  ...listOptions,
} as const;

const commands = command({
  name: "commands",
  group: "Operation",
  summary: "List, show, retry and forget commands from the queue that could not be applied",
  usage: "ls | get <id> | retry <id> | rm <id>",
  words: { min: 1, max: 2 },
  options,
  examples: ["carillon commands ls"],
  run: async (call) => {
    const { words, client, out, signal } = call;
    const [verb = "", id] = words;
    if (verb === "ls") return listDead(call);
    if (!["get", "retry", "rm"].includes(verb))
      throw new UsageFault("carillon commands takes ls, get, retry or rm.");
    if (id === undefined)
      throw new UsageFault(`carillon commands ${verb} takes an id: carillon commands ls.`);
    if (verb === "get") {
      await showDead(call, id);
    } else if (verb === "retry") {
      const retried = await client.commands.retry(id, { signal });
      if (out.isJson) out.json(retried);
      else out.line(`${printable(retried.key)}: ${retried.change}`);
    } else {
      await client.commands.delete(id, { signal });
      if (out.isJson) out.json({ deleted: id });
      else out.line(`Forgot ${id}.`);
    }
  },
});

async function showDead({ client, out, signal }: Call<keyof typeof options>, id: string): Promise<void> {
  const dead = await client.commands.get(id, { signal });
  if (out.isJson) return out.json(dead);
  out.facts([
    ["id", dead.id],
    ["key", dead.key === null ? null : printable(dead.key)],
    ["queue reaches", dead.queuePrefix === null ? null : `${printable(dead.queuePrefix)}…`],
    ["refused", out.times.both(dead.refusedAt)],
    ["why", printable(dead.error.detail)],
    ...(dead.error.errors ?? []).map(({ path, message }) => ["", printable(`${path} ${message}`)] as const),
    ["command", printable(JSON.stringify(dead.command))],
  ]);
}

async function listDead(call: Call<keyof typeof options>): Promise<void> {
  const { given, client, out, signal } = call;
  const list = client.commands.dead({ prefix: given.text("prefix"), limit: pageSize(call), signal });
  out.table(
    [
      { title: "ID", text: ({ id }) => id, whole: true },
      { title: "KEY", text: ({ key }) => key ?? "" },
      {
        title: `REFUSED (${out.times.zone})`,
        text: ({ refusedAt }) => out.times.both(refusedAt),
        narrowest: wholeTime,
      },
      {
        title: "WHY",
        text: ({ error }) =>
          [error.detail, ...(error.errors ?? []).map(({ path, message }) => `${path} ${message}`)].join(" "),
      },
    ],
    await someOf(call, list),
    "No command was refused.",
  );
}

const inbox = command({
  name: "inbox",
  group: "Operation",
  summary: "Apply the commands in the SQL inbox, or list, show and forget refused ones",
  usage: "apply | ls | get <id> | rm <id>",
  words: { min: 1, max: 2 },
  options,
  examples: ["carillon inbox apply", "carillon inbox ls"],
  run: async (call) => {
    const { words, client, out, signal } = call;
    const [verb = "", id] = words;
    if (["apply", "ls"].includes(verb) && id !== undefined)
      throw new UsageFault(`carillon inbox ${verb} takes no id.`);
    if (verb === "apply") return applyInbox(call);
    if (verb === "ls") return listInboxErrors(call);
    if (!["get", "rm"].includes(verb)) throw new UsageFault("carillon inbox takes apply, ls, get or rm.");
    if (id === undefined) throw new UsageFault(`carillon inbox ${verb} takes an id: carillon inbox ls.`);
    if (verb === "get") return showInboxError(call, await client.inbox.error(id, { signal }));
    await client.inbox.forget(id, { signal });
    if (out.isJson) out.json({ deleted: id });
    else out.line(`Forgot ${id}.`);
  },
});

async function applyInbox({ client, out, signal }: Call<keyof typeof options>): Promise<void> {
  const total = { applied: 0, refused: 0, failed: 0 };
  for (let more = true; more; ) {
    const part = await client.inbox.apply({ signal });
    total.applied += part.applied;
    total.refused += part.refused;
    total.failed = part.failed;
    more = part.more;
  }
  if (out.isJson) out.json(total);
  else
    out.line(
      `Applied ${counted(total.applied, "command")}; ${total.refused} refused, ${total.failed} to be retried.`,
    );
}

function showInboxError({ out }: Call<keyof typeof options>, refused: InboxError): void {
  if (out.isJson) out.json(refused);
  else
    out.facts([
      ["id", refused.id],
      ["key", refused.key === null ? null : printable(refused.key)],
      ["by", printable(refused.caller)],
      ["at", out.times.both(refused.at)],
      ["refused", out.times.both(refused.refusedAt)],
      ["why", printable(refused.problem)],
      ...refused.errors.map(({ path, message }) => ["", printable(`${path} ${message}`)] as const),
      ["command", printable(JSON.stringify(refused.command))],
    ]);
}

async function listInboxErrors(call: Call<keyof typeof options>): Promise<void> {
  const { given, client, out, signal } = call;
  const list = client.inbox.errors({ prefix: given.text("prefix"), limit: pageSize(call), signal });
  out.table(
    [
      { title: "ID", text: ({ id }) => id, whole: true },
      { title: "KEY", text: ({ key }) => key ?? "" },
      { title: "BY", text: ({ caller }) => caller },
      { title: `AT (${out.times.zone})`, text: ({ at }) => out.times.both(at), narrowest: wholeTime },
      {
        title: "WHY",
        text: ({ problem, errors }) =>
          [problem, ...errors.map(({ path, message }) => `${path} ${message}`)].join(" "),
      },
    ],
    await someOf(call, list),
    "No command was refused.",
  );
}

export const queueCommands: readonly Command[] = [commands, inbox];
