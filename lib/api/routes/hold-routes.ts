import * as z from "zod";
import { auditPlaceText, readAuditPlace } from "../../audit/audit-place.ts";
import { endedDays } from "../../history/holds/ended-holds.ts";
import { boardLookedMax } from "../../history/holds/hold-board.ts";
import { boardPlaceText, readBoardPlace } from "../../history/holds/hold-place.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import { storableText } from "../../schedule/shape/text.ts";
import { examples } from "../document/openapi-examples.ts";
import type { Operations } from "../operations/operations.ts";
import { pageQuery, pageSchema } from "../request/query.ts";
import { narrowed } from "../request/reach.ts";
import { type Route, route } from "../request/route.ts";
import { readSearchCursor, writeSearchCursor } from "../request/search-cursor.ts";
import { endedHoldView, holdExample, holdSchema, holdView } from "../views/hold-shape.ts";
import { mayRelease } from "./hold-owner.ts";

const holdQuery = z
  .strictObject({
    scope: z.enum(["schedule", "group", "tag"]).optional(),
    owner: storableText({ max: 300 }).optional().describe("The owner of the hold."),
    prefix: storableText({ max: 255 })
      .optional()
      .describe("Holds of schedules whose keys begin with it, and of groups and tags with such a member."),
    endsBefore: instantShape.optional().describe("Holds that end by themselves before this instant."),
    ended: z
      .enum(["true", "false"])
      .optional()
      .describe(`\`true\` lists the holds that ended in the last ${endedDays} days instead.`),
    ...pageQuery,
  })
  .superRefine(({ ended, endsBefore }, context) => {
    if (ended === "true" && endsBefore !== undefined)
      context.addIssue({
        code: "custom",
        path: ["endsBefore"],
        message: "is for holds in force, not together with `ended=true`",
      });
  });

export function holdRoutes(operations: Pick<Operations, "readHolds" | "readEndedHolds">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/holds",
      scope: "read",
      query: holdQuery,
      doc: {
        summary: "List the holds of schedules, groups and tags",
        description: `Those that end first at the front; with \`ended=true\` the newest end first. A hold of a group or tag is one entry. A page reads ${boardLookedMax.toLocaleString("en-GB")} holds of each kind at most, so it may be short and still have a cursor. A token with a prefix sees holds of its own schedules, of groups and tags for its own keys, and wider ones that hold one of its schedules, without their number of members.`,
        tag: "Groups and tags",
        answers: {
          200: {
            what: "A page of holds.",
            schema: pageSchema(holdSchema),
            example: { items: [holdExample], cursor: examples.cursor },
          },
        },
      },
      answer: async ({ query: { limit, cursor, ended, ...asked }, token }) => {
        const within = narrowed(token, asked.prefix);
        if (within === null) return { status: 200, body: { items: [] } };
        const filter = { ...asked, ...within };
        if (ended === "true") {
          const isPlace = (text: string) => readAuditPlace(text) !== null;
          const place = readSearchCursor(cursor, "ended-holds", filter, isPlace);
          const before = place === undefined ? undefined : (readAuditPlace(place) ?? undefined);
          const { items, next } = await operations.readEndedHolds({ filter, before, limit });
          const following =
            next === undefined
              ? {}
              : { cursor: writeSearchCursor("ended-holds", filter, auditPlaceText(next)) };
          return { status: 200, body: { items: items.map(endedHoldView), ...following } };
        }
        const place = readSearchCursor(cursor, "hold-board", filter, (text) => readBoardPlace(text) !== null);
        const after = place === undefined ? undefined : (readBoardPlace(place) ?? undefined);
        const { now, items, next } = await operations.readHolds({ filter, after, limit });
        const following =
          next === undefined ? {} : { cursor: writeSearchCursor("hold-board", filter, boardPlaceText(next)) };
        return {
          status: 200,
          body: {
            items: items.map((hold) => holdView(hold, { now, token, mayRelease: mayRelease(token, hold) })),
            ...following,
          },
        };
      },
    }),
  ];
}
