import { queryOptions } from "@tanstack/react-query";
import type { CalendarBody } from "../../client/calendars.ts";
import type { Carillon } from "../../client/carillon.ts";

const listed = 100;

/** The calendars by name; a deployment has few. */
export const calendarsQuery = (carillon: Carillon) =>
  queryOptions({
    queryKey: ["calendars"],
    queryFn: ({ signal }) => carillon.calendars.list({ limit: listed, signal }).page(),
  });

export const calendarQuery = (carillon: Carillon, name: string) =>
  queryOptions({
    queryKey: ["calendar", name],
    queryFn: ({ signal }) => carillon.calendars.get(name, { signal }),
  });

/** The runs that a put of this calendar would move; nothing is changed. */
export const calendarPreviewQuery = (carillon: Carillon, name: string, body: CalendarBody) =>
  queryOptions({
    queryKey: ["calendar", name, "preview", body],
    queryFn: ({ signal }) => carillon.calendars.preview(name, body, { signal }),
    placeholderData: (before) => before,
  });
