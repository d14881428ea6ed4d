import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { textsIn } from "../data/search-texts.ts";
import { monthIn } from "../data/time/months.ts";
import { root } from "./root-route.tsx";

/** The editors. Their code is loaded when one of them is opened: it is larger than all other views. */

const newSchedule = createRoute({
  getParentRoute: () => root,
  path: "/new",
  component: lazyRouteComponent(() => import("../views/edit/new-schedule.tsx"), "NewSchedule"),
  validateSearch: (search: Record<string, unknown>): { key?: string } => textsIn(search, ["key"]),
});

const editSchedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$key/edit",
  component: lazyRouteComponent(() => import("../views/edit/edit-schedule.tsx"), "EditSchedule"),
});

const calendars = createRoute({
  getParentRoute: () => root,
  path: "/calendars",
  component: lazyRouteComponent(() => import("../views/calendars/calendars.tsx"), "Calendars"),
});

const calendar = createRoute({
  getParentRoute: () => root,
  path: "/calendars/$name",
  component: lazyRouteComponent(() => import("../views/calendars/calendar.tsx"), "CalendarView"),
  validateSearch: (search: Record<string, unknown>) => monthIn(search),
});

export const editRoutes = [newSchedule, editSchedule, calendars, calendar] as const;
