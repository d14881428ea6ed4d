import * as z from "zod";
import type { BulkPreview, HoldDone, NextOccurrences, PauseParams, SharedHold } from "../../client/main.ts";
import { counted, nameText, type Told } from "../answer.ts";
import { instant, key, runsShown } from "../arguments.ts";
import { type Foreseen, type MakePreviewed, previewedTool } from "../previewed-tool.ts";
import type { ToolCall } from "../tool.ts";
import { toldEdit } from "./edit-tools.ts";
import { holdText } from "./schedule-tools.ts";
import { runLines } from "./time-tools.ts";

const subject = {
  key: key.optional(),
  group: z.string().optional().describe("Instead of a key: all schedules of the group, also later ones."),
  tag: z.string().optional().describe("Instead of a key: all schedules with the tag, also later ones."),
  owner: z.string().optional().describe("In the name of this owner; needs a token of the scope admin."),
};

interface Subject {
  key?: string | undefined;
  group?: string | undefined;
  tag?: string | undefined;
}

const hold = previewedTool({
  name: "hold",
  title: "Hold schedules",
  description:
    "Holds a schedule, a group or a tag: no run starts until the hold ends or is released. Give exactly one of key, group and tag.",
  input: z.strictObject({
    ...subject,
    reason: z.string().optional().describe("Shown to everybody who asks why nothing runs."),
    until: instant.optional().describe("When the hold ends by itself; without it, it must be released."),
  }),
  preview: async ({ reason, until, owner, ...asked }, call) => {
    const params = { reason, until: call.instantOf(until, "until"), owner };
    const end = params.until === undefined ? "until it is released" : `until ${params.until}`;
    const named = labelOf(asked);
    if (named.label !== null)
      return foreseeShared("pause", named, params, [`Would hold ${named.text} ${end}.`], call);
    const { client, signal } = call;
    const [{ version, holds }, coming] = await Promise.all([
      client.schedules.get(named.name, { signal }),
      client.schedules.next(named.name, { n: runsShown }, { signal }),
    ]);
    const kept = heldBy(coming, params.until);
    return {
      lines: [
        `Would hold ${nameText(named.name)}, now at version ${version}, ${end}.`,
        ...holds.map((each) => `Held already ${holdText(each)}.`),
        kept.length === 0 ? "No coming run would be held." : "Runs that would be held, of the next five:",
        ...runLines({ details: kept }).filter(() => kept.length > 0),
      ],
      data: { key: named.name, version, ...params, holds, held: kept },
      act: async (idempotencyKey, aborted) => {
        const options = { ifMatch: version, idempotencyKey, signal: aborted };
        return toldEdit(await client.schedules.pause(named.name, params, options), "Held");
      },
    };
  },
});

const release = previewedTool({
  name: "release",
  title: "Release a hold",
  description:
    "Releases your hold of a schedule, a group or a tag. Other holds stay. What was due meanwhile follows `catchUp` of the schedule. Give exactly one of key, group and tag.",
  input: z.strictObject(subject),
  preview: async ({ owner, ...asked }, call) => {
    const { client, signal } = call;
    const named = labelOf(asked);
    const whose = owner ?? (await client.tokens.own({ signal })).holdOwner;
    if (named.label !== null) {
      const { holds } = await client[`${named.label}s`].get(named.name, { limit: 1, signal });
      const own = holds.filter((each) => each.owner === whose && each.progress !== "releasing");
      const lines = [
        `Would release ${own.length === 0 ? "nothing" : "the hold"} of ${nameText(whose)} of ${named.text}.`,
      ];
      return foreseeShared(
        "resume",
        named,
        { owner },
        [...lines, ...othersOf(holds, whose)],
        call,
        own.length > 0,
      );
    }
    const [{ version, holds, catchUp }, coming] = await Promise.all([
      client.schedules.get(named.name, { signal }),
      client.schedules.next(named.name, { n: runsShown }, { signal }),
    ]);
    const isOwn = (each: (typeof holds)[number]) =>
      each.owner === whose && each.group === undefined && each.tag === undefined;
    const own = holds.filter(isOwn);
    const others = holds.filter((each) => !isOwn(each));
    return {
      lines: [
        ...own.map(
          (each) =>
            `Would release ${nameText(named.name)}, now at version ${version}, held ${holdText(each)}.`,
        ),
        ...(own.length === 0 ? [`${nameText(named.name)} has no hold of ${nameText(whose)}.`] : []),
        ...others.map((each) => `It stays held ${holdText(each)}.`),
        `Missed runs follow catchUp: ${catchUp.policy}. Coming runs:`,
        ...runLines(coming),
      ],
      data: { key: named.name, version, releases: own, stay: others, catchUp, coming: coming.details },
      act:
        own.length === 0
          ? null
          : async (idempotencyKey, aborted) => {
              const options = { ifMatch: version, idempotencyKey, signal: aborted };
              return toldEdit(await client.schedules.resume(named.name, { owner }, options), "Released");
            },
    };
  },
});

export const holdTools: readonly MakePreviewed[] = [hold, release];

type Label = { label: "group" | "tag"; name: string; text: string };

function labelOf({ key: name, group, tag }: Subject): { label: null; name: string } | Label {
  if ([name, group, tag].filter((each) => each !== undefined).length !== 1)
    throw new TypeError("Give exactly one of key, group and tag.");
  if (group !== undefined) return { label: "group", name: group, text: `the group ${nameText(group)}` };
  if (tag !== undefined) return { label: "tag", name: tag, text: `the tag ${nameText(tag)}` };
  return { label: null, name: name ?? "" };
}

/** A hold has no runs to show for a group, so the preview counts the schedules. */
async function foreseeShared(
  verb: "pause" | "resume",
  { label, name, text }: Label,
  params: PauseParams,
  lines: readonly string[],
  { client, signal }: ToolCall,
  acts = true,
): Promise<Foreseen> {
  const filter = label === "group" ? { group: name } : { tag: name };
  const found: BulkPreview = await client.schedules.tryMany({ verb, filter }, { signal });
  const { count, more, samples, paused } = found;
  const keys = samples.map((each) => nameText(each.key)).join(", ");
  return {
    lines: [
      ...lines,
      `${text} has ${counted(count, "schedule", more)}, ${paused?.count ?? 0} of them held now: ${keys || "none"}.`,
      ...(verb === "pause" ? ["Schedules that join it later are held too."] : []),
    ],
    data: { [label]: name, ...params, count, more, samples, paused },
    act: acts
      ? async (idempotencyKey, aborted) => {
          const options = { idempotencyKey, signal: aborted };
          return toldShared(await client[`${label}s`][verb](name, params, options), verb, text);
        }
      : null,
  };
}

function toldShared(done: HoldDone, verb: "pause" | "resume", text: string): Told {
  const rest = done.cursor === undefined ? [] : ["Carillon does the other schedules with its next ticks."];
  const { cursor: _, ...data } = done;
  return {
    lines: [
      `${verb === "pause" ? "Held" : "Released"} ${text}: ${counted(done.done, "schedule")} so far.`,
      ...rest,
    ],
    data: { ...data, complete: done.cursor === undefined },
  };
}

function othersOf(holds: readonly SharedHold[], whose: string): string[] {
  return holds
    .filter(({ owner, progress }) => owner !== whose && progress !== "releasing")
    .map((each) => `It stays held ${holdText(each)}.`);
}

/** The coming runs that are due before the end of a hold. */
function heldBy({ details }: NextOccurrences, until: string | undefined): NextOccurrences["details"] {
  if (until === undefined) return details;
  return details.filter(({ at, due }) => Date.parse(due ?? at) < Date.parse(until));
}
