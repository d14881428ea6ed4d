import { createRoute, createRouter, lazyRouteComponent } from "@tanstack/react-router";
import { readAgendaSearch } from "../views/agenda/agenda-search.ts";
import { readHoldSearch } from "../views/holds/hold-search.ts";
import { readJobSearch } from "../views/jobs/job-search.ts";
import { Jobs } from "../views/jobs/jobs.tsx";
import { readLoadSearch } from "../views/load/load-search.ts";
import { Now } from "../views/now/now.tsx";
import { readOneSearch } from "../views/schedule/one-search.ts";
import { readScheduleSearch } from "../views/schedules/schedule-search.ts";
import { Schedules } from "../views/schedules/schedules.tsx";
import { editRoutes } from "./edit-routes.ts";
import { moreRoutes } from "./more-routes.ts";
import { root } from "./root-route.tsx";

/**
 * The first views: the verdict and the lists. The code of all others is loaded when a link to one of
 * them is pointed at or has the focus, or when it is opened.
 */

const now = createRoute({ getParentRoute: () => root, path: "/", component: Now });

const schedules = createRoute({
  getParentRoute: () => root,
  path: "/schedules",
  component: Schedules,
  validateSearch: readScheduleSearch,
});

const schedule = createRoute({
  getParentRoute: () => root,
  path: "/schedules/$key",
  component: lazyRouteComponent(() => import("../views/schedule/schedule.tsx"), "ScheduleView"),
  validateSearch: readOneSearch,
});

const jobs = createRoute({
  getParentRoute: () => root,
  path: "/jobs",
  component: Jobs,
  validateSearch: readJobSearch,
});

const holds = createRoute({
  getParentRoute: () => root,
  path: "/holds",
  component: lazyRouteComponent(() => import("../views/holds/holds.tsx"), "Holds"),
  validateSearch: readHoldSearch,
});

const load = createRoute({
  getParentRoute: () => root,
  path: "/load",
  component: lazyRouteComponent(() => import("../views/load/load.tsx"), "Load"),
  validateSearch: readLoadSearch,
});

const agenda = createRoute({
  getParentRoute: () => root,
  path: "/agenda",
  component: lazyRouteComponent(() => import("../views/agenda/agenda.tsx"), "Agenda"),
  validateSearch: readAgendaSearch,
});

const job = createRoute({
  getParentRoute: () => root,
  path: "/jobs/$id",
  component: lazyRouteComponent(() => import("../views/job/job.tsx"), "JobView"),
});

const routeTree = root.addChildren([
  now,
  schedules,
  schedule,
  jobs,
  job,
  load,
  holds,
  agenda,
  ...editRoutes,
  ...moreRoutes,
]);

export function makePageRouter() {
  return createRouter({
    routeTree,
    basepath: new URL(document.baseURI).pathname,
    defaultPreload: "intent",
    scrollRestoration: true,
    // The address is read and written by people: `?zone=UTC`, not `?zone=%22UTC%22`.
    parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
    stringifySearch: (search) => {
      const pairs = Object.entries(search).filter(([, value]) => value !== undefined && value !== null);
      const text = new URLSearchParams(
        pairs.map(([name, value]): [string, string] => [name, String(value)]),
      ).toString();
      return text === "" ? "" : `?${text}`;
    },
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makePageRouter>;
  }
}
