import * as z from "zod";
import { Refusal } from "../../refusal.ts";
import { zoneMovesKept } from "../../rules/zone-data-moves.ts";
import { textFault } from "../../schedule/shape/text.ts";
import { zoneDocs } from "../document/zone-docs.ts";
import type { Operations } from "../operations/operations.ts";
import { readCursor, writeCursor } from "../request/cursor.ts";
import { pageQuery } from "../request/query.ts";
import { noQuery, type Route, route } from "../request/route.ts";

/** Routes of the time zone data in force, and of the schedules that its updates moved. */
export function zoneRoutes(operations: Operations): Route[] {
  return [
    route({
      method: "GET",
      path: "/v1/zone-data",
      scope: "read",
      query: noQuery,
      doc: zoneDocs.read,
      answer: async () => ({ status: 200, body: { ...(await operations.readZoneData()) } }),
    }),
    route({
      method: "GET",
      path: "/v1/zone-data/{version}/moves",
      scope: "read",
      everyKey: "Reading schedules that time zone data moved",
      query: z.strictObject(pageQuery),
      doc: zoneDocs.moves,
      answer: async ({ parameter, query: { cursor, limit } }) => {
        const version = parameter("version");
        const before = cursor === undefined ? undefined : readCursor(cursor, "zone-moves", isPlace);
        const page =
          textFault(version) === null ? await operations.zoneMoves({ version, limit, before }) : null;
        if (page === null)
          throw new Refusal(
            "missing",
            `The time zone data ${JSON.stringify(version)} was never in force here.`,
          );
        const { items, next } = page;
        return {
          status: 200,
          body: {
            items: items.map(({ key, timezone, before: from, after }) => ({
              key,
              timezone,
              before: from,
              after,
            })),
            /** How many moves are kept, newest first, over all updates. */
            kept: zoneMovesKept,
            ...(next === undefined ? {} : { cursor: writeCursor("zone-moves", next) }),
          },
        };
      },
    }),
  ];
}

const isPlace = (place: string) => /^[1-9]\d{0,17}$/.test(place);
