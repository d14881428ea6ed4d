import * as z from "zod";
import { counted, nameText, quoted, toldPage } from "../answer.ts";
import { instant, paging } from "../arguments.ts";
import { readTool, type Tool } from "../tool.ts";

const problems = readTool({
  name: "problems",
  title: "Is it on time? What needs attention?",
  description:
    "Says whether jobs run on time, and lists what needs attention, the worst first. Begin here when something is wrong.",
  input: z.strictObject({}),
  run: async (_, { client, signal }) => {
    const found = await client.problems({ signal });
    return {
      lines: [
        `${found.verdict} at ${found.asOf}: ${found.text}`,
        ...(found.problems.length === 0 ? ["Nothing needs attention."] : []),
        ...found.problems.map(({ kind, text, since, sample }) => {
          const from = since === null ? "" : ` (since ${since})`;
          return `${kind}: ${text}${from}${sample === null ? "" : `, such as ${nameText(sample)}`}`;
        }),
      ],
      data: found,
    };
  },
});

const audit = readTool({
  name: "audit",
  title: "Who changed what",
  description: "Lists recorded changes, newest first. Needs a token of the scope admin.",
  input: z.strictObject({
    subject: z.string().optional().describe("A key, or the name of a group, tag, calendar, token or target."),
    prefix: z.string().optional().describe("Only subjects that begin with it."),
    actor: z.string().optional().describe("Only changes by this token."),
    action: z.string().optional().describe("Such as schedule.replaced."),
    from: instant.optional(),
    to: instant.optional(),
    ...paging,
  }),
  run: async ({ from, to, ...filter }, { client, signal, instantOf }) => {
    const times = { from: instantOf(from, "from"), to: instantOf(to, "to") };
    return toldPage(
      await client.audit({ ...filter, ...times, signal }).page(),
      ({ at, actor, action, subject, changes }) => {
        const fields = changes.flatMap(({ path }) => (path === "" ? [] : [nameText(path)]));
        return `${at} ${nameText(actor)} ${action} ${nameText(subject)}${fields.length === 0 ? "" : `: ${fields.join(", ")}`}`;
      },
      "No change was recorded.",
    );
  },
});

const holds = readTool({
  name: "list_holds",
  title: "List holds",
  description:
    "Lists what is on hold, by whom, why and until when; or, with ended, the holds that ended lately.",
  input: z.strictObject({
    scope: z.enum(["schedule", "group", "tag"]).optional(),
    owner: z.string().optional(),
    prefix: z
      .string()
      .optional()
      .describe("Holds of schedules with such keys, and of groups and tags with such members."),
    endsBefore: instant.optional(),
    ended: z.boolean().optional(),
    ...paging,
  }),
  run: async ({ endsBefore, ...filter }, { client, signal, instantOf }) =>
    toldPage(
      await client.holds({ ...filter, endsBefore: instantOf(endsBefore, "endsBefore"), signal }).page(),
      ({ scope, name, owner, reason, since, until, members, state }) => {
        const end = until === null ? "without an end" : `until ${until}`;
        const count = members === null ? "" : `, ${counted(members, "schedule")}`;
        return `${scope} ${nameText(name)}: ${state}, by ${nameText(owner ?? "unknown")} since ${since ?? "unknown"} ${end}${count}${reason === null ? "" : `, ${quoted(reason)}`}`;
      },
      "Nothing is on hold.",
    ),
});

export const operationTools: readonly Tool[] = [problems, audit, holds];
