import type { AuditEntry, AuditFilter } from "../../client/main.ts";
import { type Call, type Command, command } from "../command.ts";
import { fullOption, listOptions } from "../common-options.ts";
import { instantFrom } from "../input.ts";
import { pageSize, someOf } from "../listed.ts";
import type { Output } from "../output/output.ts";
import { changesText, detailText } from "../output/shown-changes.ts";
import type { Column } from "../output/table.ts";

export const auditOptions = {
  subject: { value: "subject", about: "Only this subject, such as a schedule's key" },
  prefix: { value: "prefix", about: "Only subjects that begin with this" },
  actor: { value: "actor", about: "Only changes by this token" },
  action: { value: "action", about: "Only this action" },
  from: { value: "instant", about: "From this instant, such as `2d ago`" },
  to: { value: "instant", about: "Before this instant" },
} as const;

const audit = command({
  name: "audit",
  group: "Operation",
  summary: "List recorded changes, newest first",
  usage: "",
  words: { min: 0, max: 0 },
  options: { ...auditOptions, ...fullOption, ...listOptions },
  examples: [
    "carillon audit --subject report:weekly --full",
    `carillon audit --actor ci --from "2d ago" --all --json`,
  ],
  run: async (call) => {
    const { client, out, signal } = call;
    const list = client.audit({ ...auditFilterFrom(call), limit: pageSize(call), signal });
    const columns = auditColumns(out, { isFull: call.given.flag("full") });
    out.table(columns, await someOf(call, list), "No change was recorded.");
  },
});

export function auditFilterFrom(call: Call<keyof typeof auditOptions>): AuditFilter {
  const { given } = call;
  return {
    subject: given.text("subject"),
    prefix: given.text("prefix"),
    actor: given.text("actor"),
    action: given.text("action"),
    from: instantFrom(call, given.text("from"), "--from"),
    to: instantFrom(call, given.text("to"), "--to"),
  };
}

export function auditColumns({ times }: Output, { isFull = false } = {}): Column<AuditEntry>[] {
  return [
    { title: `AT (${times.zone})`, text: ({ at }) => times.wall(at), whole: true },
    { title: "BY", text: ({ actor }) => actor },
    { title: "DID", text: ({ action }) => action, whole: true },
    { title: "TO", text: ({ subject }) => subject },
    { title: "WHAT", text: (entry) => whatOf(entry, isFull) },
  ];
}

function whatOf({ changes = [], detail }: AuditEntry, isFull: boolean): string {
  return changes.length > 0 ? changesText(changes, isFull) : detailText(detail, isFull);
}

export const auditCommands: readonly Command[] = [audit];
