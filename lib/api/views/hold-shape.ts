import * as z from "zod";
import type { EndedHold } from "../../history/holds/ended-holds.ts";
import type { BoardHold } from "../../history/holds/hold-board.ts";
import type { Token } from "../../token/token.ts";
import { reaches } from "../request/reach.ts";
import { instantText } from "./instant-text.ts";

export const holdSchema = z
  .strictObject({
    scope: z
      .enum(["schedule", "group", "tag", "filter"])
      .describe("`filter`: holds of single schedules that a resume by filter has released together."),
    name: z
      .string()
      .describe(
        "The key of the schedule, the name of the group or tag, or the filter, such as `prefix crm:`.",
      ),
    owner: z.string().nullable().describe("Null for an ended hold whose owner the audit does not name."),
    prefix: z
      .string()
      .nullable()
      .describe("The hold of a group or tag covers members whose keys begin with this; null for all."),
    reason: z.string().nullable(),
    since: instantText.nullable(),
    until: instantText.nullable(),
    secondsLeft: z.int().min(0).nullable().describe("Until the hold ends by itself; null if it does not."),
    members: z
      .int()
      .min(0)
      .nullable()
      .describe(
        "Schedules that the hold covers, counted up to 1,000; of a larger hold those that it was put on. While it is set on its schedules or taken off, those that are done so far; with the scope `filter`, those that were released. Null for other ended holds, and where the hold covers more keys than the token reaches.",
      ),
    state: z
      .enum(["binding", "ending", "ended"])
      .describe("`ending`: released or past its end, and not off all of its schedules yet."),
    endedAt: instantText.nullable(),
    endedBy: z.string().nullable().describe("The actor that released it; `carillon` if it ended by itself."),
    reach: z
      .string()
      .nullable()
      .describe(
        "Its maker reached the keys that begin with this; empty for all keys. Only a token that reaches as many may release it. Null for a hold that Carillon has set by itself, which every token that may write may release, for one of an older version, and for an ended one.",
      ),
    releasable: z.boolean().describe("Whether the token of the request may release it."),
  })
  .meta({
    id: "BoardHold",
    description: "A hold of a schedule, a group or a tag, or the end of holds of many schedules.",
  });

type HoldView = z.input<typeof holdSchema>;

export function holdView(
  hold: BoardHold,
  { now, token, mayRelease }: { now: Date; token: Pick<Token, "prefix">; mayRelease: boolean },
): HoldView {
  const { scope, name, owner, prefix, reason, since, until, members, state, reach } = hold;
  const isForeign = prefix !== null && !reaches(token, prefix);
  const left = until === null ? null : Math.max(0, Math.ceil((until.getTime() - now.getTime()) / 1_000));
  return {
    scope,
    name,
    owner,
    prefix: prefix === "" ? null : prefix,
    reason,
    since: since.toISOString(),
    until: until?.toISOString() ?? null,
    secondsLeft: left,
    members: isForeign ? null : members,
    state,
    endedAt: null,
    endedBy: null,
    reach,
    releasable: state === "binding" && mayRelease,
  };
}

export function endedHoldView({ id: _, since, until, endedAt, ...hold }: EndedHold): HoldView {
  return {
    ...hold,
    prefix: null,
    since: since?.toISOString() ?? null,
    until: until?.toISOString() ?? null,
    secondsLeft: null,
    state: "ended",
    endedAt: endedAt.toISOString(),
    reach: null,
    releasable: false,
  };
}

export const holdExample: HoldView = {
  scope: "group",
  name: "order:1234",
  owner: "ops",
  prefix: null,
  reason: "stocktaking",
  since: "2026-12-01T08:00:00.000Z",
  until: "2026-12-01T10:00:00.000Z",
  secondsLeft: 3_600,
  members: 12,
  state: "binding",
  endedAt: null,
  endedBy: null,
  reach: "",
  releasable: true,
};
