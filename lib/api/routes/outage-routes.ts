import * as z from "zod";
import { type NotedOutage, outageKinds, outagePlaceText, readOutagePlace } from "../../parcel/outages.ts";
import { instantShape } from "../../schedule/shape/instant-shape.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { isRange, noRange, pageQuery, pageSchema } from "../request/query.ts";
import { type Route, route } from "../request/route.ts";
import { instantText } from "../views/instant-text.ts";

const outagesQuery = z
  .strictObject({
    from: instantShape.optional().describe("Outages that were not over at this instant."),
    to: instantShape.optional().describe("Outages that began before this instant."),
    ...pageQuery,
  })
  .refine(isRange, noRange);

const outageSchema = z
  .strictObject({
    id: z.string(),
    what: z
      .enum(outageKinds)
      .describe(
        "`tick`: no tick ran. `database`: no tick reached the database. `fast-workers`, `slow-workers`: no worker claimed parcels of the queue that were ready.",
      ),
    from: instantText.describe(
      "For the tick and the database, the last tick before; for workers, when the first parcel could have been claimed.",
    ),
    to: instantText
      .nullable()
      .describe(
        "For the tick and the database, when the next tick began; for workers, the next claim. Null while it lasts. Explanations name the same time.",
      ),
    notedAt: instantText.describe(
      "When the tick noted it. An outage of the tick or the database is noted when it is over.",
    ),
    see: z
      .strictObject({ path: z.string(), query: z.record(z.string(), z.string()) })
      .describe(
        "The GET request that lists the jobs with an occurrence in this time that started late; `explain` says of each why.",
      ),
    command: z.string().describe("The CLI command for it."),
  })
  .meta({ id: "Outage", description: "A time in which Carillon could not make or start jobs." });

const example = {
  id: "7",
  what: "tick",
  from: "2026-12-01T09:00:12.000Z",
  to: "2026-12-01T09:06:12.000Z",
  notedAt: "2026-12-01T09:06:14.000Z",
  see: {
    path: "/v1/jobs",
    query: { from: "2026-12-01T09:00:12.000Z", to: "2026-12-01T09:06:12.000Z", lateBy: "1s" },
  },
  command: "carillon jobs --late-by 1s --from 2026-12-01T09:00:12.000Z --to 2026-12-01T09:06:12.000Z",
};

export function outageRoutes(operations: Pick<Operations, "readOutages">): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/outages",
      scope: "read",
      query: outagesQuery,
      doc: {
        summary: "List outages",
        description:
          "Newest first. Kept as long as jobs. Gaps between ticks of up to 150 seconds are no outage: jobs are made 180 seconds ahead. A token with a prefix reads all of them, since they name no keys.",
        tag: "Insight",
        answers: {
          200: {
            what: "A page of outages.",
            schema: pageSchema(outageSchema),
            example: { items: [example] },
          },
        },
      },
      answer: async ({ query: { cursor, ...asked } }) => {
        const isPlace = (text: string) => readOutagePlace(text) !== null;
        const before =
          cursor === undefined
            ? undefined
            : (readOutagePlace(readCursor(cursor, "outages", isPlace)) ?? undefined);
        const { items, next } = await operations.readOutages({ ...asked, before });
        return {
          status: 200,
          body: {
            items: items.map(outageView),
            ...(next === undefined ? {} : { cursor: writeCursor("outages", outagePlaceText(next)) }),
          },
        };
      },
    }),
  ];
}

/** A job that starts later than this after its due time is late, as the guarantee says. */
const onTime = "1s";

function outageView({ id, what, from, to, notedAt }: NotedOutage) {
  const range = { from: from.toISOString(), ...(to === null ? {} : { to: to.toISOString() }) };
  const see = { path: "/v1/jobs", query: { ...range, lateBy: onTime } };
  const options = Object.entries(range).map(([name, instant]) => ` --${name} ${instant}`);
  return {
    id,
    what,
    from,
    to,
    notedAt,
    see,
    command: `carillon jobs --late-by ${onTime}${options.join("")}`,
  };
}
