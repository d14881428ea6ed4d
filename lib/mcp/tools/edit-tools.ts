import * as z from "zod";
import type { Edited, InstantText, Schedule } from "../../client/main.ts";
import { puttable } from "../../client/puttable.ts";
import {
  type FieldChange,
  fieldChanges,
  hasHiddenParts,
  understood,
} from "../../put-preview/field-changes.ts";
import { besidesFields, foreseePut } from "../../put-preview/foresee-put.ts";
import { WouldBeRefused } from "../../put-preview/would-be-refused.ts";
import { isRelative } from "../../schedule/resolve-spec.ts";
import { patchedSchedule } from "../../schedule/shape/merge-patch.ts";
import type { ScheduleBody as WholeBody } from "../../schedule/shape/schedule-body.ts";
import { nameText, shown, type Told } from "../answer.ts";
import { key, runsShown } from "../arguments.ts";
import { refuseInexact } from "../inexact.ts";
import { type MakePreviewed, previewedTool } from "../previewed-tool.ts";
import type { ToolCall } from "../tool.ts";
import { previewLines } from "./time-tools.ts";

/** The common fields are named for the agent; the API takes and checks all of its own. */
const fields = z.looseObject({
  when: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe("Such as `0 9 * * 1-5`, `every 5m`, `in 3h`, `at 2026-12-01T09:00`; a list combines several."),
  timezone: z.string().nullable().optional().describe("An IANA name; default UTC."),
  target: z
    .looseObject({})
    .optional()
    .describe(
      "One of { queue: name }, { event: {} }, { webhook: { url } }, { lambda: name }, { handler: name }.",
    ),
  payload: z.unknown().optional().describe("Any JSON of at most 240 KB."),
  group: z.string().nullable().optional(),
  tags: z.array(z.string()).nullable().optional(),
  description: z.string().nullable().optional(),
});

const otherFields =
  "Further fields: startsAt, endsAt, maxFires, calendar, spread, slot, dst, retry, timeout, deadline, overlap, catchUp, priority, serial, holdAfter, delivery, deleteOnEnd, paused.";

const put = previewedTool({
  name: "put_schedule",
  title: "Create or replace a schedule",
  description:
    "Creates a schedule, or replaces all of it: fields that are not given get their defaults, so use patch_schedule to change single fields.",
  input: z.strictObject({
    key,
    schedule: fields.describe(`The whole schedule; when and target are required. ${otherFields}`),
  }),
  preview: async ({ key: asked, schedule }, call) => {
    refuseInexact(schedule);
    const { client, signal } = call;
    const params = { key: asked, body: schedule, ifMatch: undefined, create: false };
    const { saved, outcome, times, changes } = await foreseePut(client, params, signal);
    const before = saved === null ? [] : await nextOf(asked, call);
    const preview = { key: asked, creates: saved === null, version: saved?.version ?? null, ...outcome };
    const version = saved?.version;
    const expected = version === undefined ? { ifNoneMatch: "*" as const } : { ifMatch: version };
    const path = ["v1", "schedules", asked];
    return {
      lines: [
        saved === null
          ? `Would create ${nameText(asked)}.`
          : `Would replace ${nameText(asked)}, now at version ${saved.version}.`,
        ...changeLines(outcome.changes),
        ...besidesFields(outcome, saved),
        ...relativeLines(schedule),
        ...(saved === null ? [] : [runsLine("Coming runs now", before)]),
        "Coming runs then:",
        ...previewLines(times),
      ],
      data: { ...preview, before, after: times.occurrences, warnings: times.warnings },
      act: changes
        ? async (idempotencyKey, aborted) => {
            const options = { ...expected, idempotencyKey, signal: aborted };
            const request = { method: "PUT", path, body: schedule, options } as const;
            return toldEdit(
              (await client.request<Edited>(request)).body,
              saved === null ? "Created" : "Replaced",
            );
          }
        : null,
    };
  },
});

const patch = previewedTool({
  name: "patch_schedule",
  title: "Change single fields of a schedule",
  description: "Changes the named fields of a schedule (a merge patch); null restores a default.",
  input: z.strictObject({ key, patch: fields.describe(`The fields that change. ${otherFields}`) }),
  preview: async ({ key: asked, patch: wanted }, { client, signal }) => {
    refuseInexact(wanted);
    const saved = await client.schedules.get(asked, { signal });
    const { changes, whole } = patchedFields(saved, wanted);
    const runs = await triedPatch(asked, wanted, { client, signal });
    const isWritten = hasHiddenParts(whole) || wanted["paused"] !== undefined;
    const path = ["v1", "schedules", asked];
    return {
      lines: [
        `Would change ${nameText(asked)}, now at version ${saved.version}.`,
        ...changeLines(changes),
        ...(hasHiddenParts(whole) ? ["target: the credentials are written"] : []),
        ...(wanted["paused"] === undefined ? [] : [`paused: ${shown(wanted["paused"])}, your own hold`]),
        ...relativeLines(wanted),
        runsLine("Coming runs now", runs.before),
        runsLine("Coming runs then", runs.after),
      ],
      data: { key: asked, version: saved.version, changes, ...runs },
      act:
        changes.length > 0 || isWritten || isRelativePatch(wanted)
          ? async (idempotencyKey, aborted) => {
              const options = { ifMatch: saved.version, idempotencyKey, signal: aborted };
              const request = { method: "PATCH", path, body: wanted, options } as const;
              return toldEdit((await client.request<Edited>(request)).body, "Changed");
            }
          : null,
    };
  },
});

export const editTools: readonly MakePreviewed[] = [put, patch];

/** The fields that a patch changes, as the API merges them. */
function patchedFields(
  saved: Schedule,
  wanted: { [name: string]: unknown },
): { changes: FieldChange[]; whole: WholeBody } {
  const { ["paused"]: _, ...lasting } = wanted;
  const { key: _key, ...body }: { key?: string } = puttable(saved);
  const now = wholeOf(saved.key, body);
  const merged = patchedSchedule(now, lasting);
  const whole = wholeOf(saved.key, Object(merged));
  return { changes: fieldChanges(whole, saved), whole };
}

function wholeOf(name: string, body: object): WholeBody {
  const read = understood(name, body);
  if (read.ok) return read.whole;
  throw new WouldBeRefused("refused", read.faults.join("; "));
}

/** The server's own dry run of the patch: the runs before and after, or its refusal. */
async function triedPatch(
  name: string,
  wanted: object,
  { client, signal }: Pick<ToolCall, "client" | "signal">,
): Promise<{ before: InstantText[]; after: InstantText[] }> {
  const { samples } = await client.schedules.tryMany(
    { verb: "patch", keys: [name], patch: wanted },
    { signal },
  );
  const [sample] = samples;
  if (sample?.changes !== undefined) return sample.changes;
  throw new WouldBeRefused(
    "refused",
    (sample?.refused ?? `the schedule ${nameText(name)} was deleted`).replace(/\.$/, ""),
  );
}

async function nextOf(name: string, { client, signal }: ToolCall): Promise<InstantText[]> {
  return (await client.schedules.next(name, { n: runsShown }, { signal })).occurrences;
}

function isRelativePatch({ when }: { when?: string | string[] | undefined }): boolean {
  return when !== undefined && isRelative({ when, timezone: "UTC" });
}

function relativeLines(body: { when?: string | string[] | undefined }): string[] {
  return isRelativePatch(body)
    ? ["`when` is relative: it counts from the confirming call, not from now."]
    : [];
}

function changeLines(changes: readonly FieldChange[]): string[] {
  return changes.map(({ path, before, after }) => `${nameText(path)}: ${shown(before)} → ${shown(after)}`);
}

function runsLine(title: string, runs: readonly InstantText[]): string {
  return `${title}: ${runs.length === 0 ? "none" : runs.join(", ")}.`;
}

export function toldEdit(edited: Edited, verb: string): Told {
  const { key: name, version, state, nextAt, changes, warnings, holds } = edited;
  return {
    lines: [
      `${verb} ${nameText(name)}: version ${version}, ${state}, ${nextAt === null ? "no coming run" : `next ${nextAt}`}.`,
      runsLine("Coming runs before", changes.before),
      runsLine("Coming runs now", changes.after),
      ...warnings.map((warning) => `Warning: ${warning}`),
    ],
    data: { key: name, version, state, nextAt, changes, warnings, holds },
  };
}
