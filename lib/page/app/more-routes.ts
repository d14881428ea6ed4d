import { createRoute, lazyRouteComponent } from "@tanstack/react-router";
import { textsIn } from "../data/search-texts.ts";
import { readAuditSearch } from "../views/audit/audit-search.ts";
import { readRefusedSearch } from "../views/refused/refused-search.ts";
import { root } from "./root-route.tsx";

/** The views of the menu. Their code is loaded when one of them is opened. */

const groups = createRoute({
  getParentRoute: () => root,
  path: "/groups",
  component: lazyRouteComponent(() => import("../views/groups/groups.tsx"), "Groups"),
  validateSearch: (search: Record<string, unknown>): { prefix?: string | undefined } =>
    textsIn(search, ["prefix"]),
});

const group = createRoute({
  getParentRoute: () => root,
  path: "/groups/$group",
  component: lazyRouteComponent(() => import("../views/group/group.tsx"), "GroupView"),
});

const limits = createRoute({
  getParentRoute: () => root,
  path: "/limits",
  component: lazyRouteComponent(() => import("../views/limits/limits.tsx"), "LimitsView"),
  validateSearch: (search: Record<string, unknown>): { target?: string | undefined } =>
    textsIn(search, ["target"]),
});

const tokens = createRoute({
  getParentRoute: () => root,
  path: "/tokens",
  component: lazyRouteComponent(() => import("../views/tokens/tokens.tsx"), "Tokens"),
});

const audit = createRoute({
  getParentRoute: () => root,
  path: "/audit",
  component: lazyRouteComponent(() => import("../views/audit/audit.tsx"), "Audit"),
  validateSearch: readAuditSearch,
});

const refused = createRoute({
  getParentRoute: () => root,
  path: "/refused",
  component: lazyRouteComponent(() => import("../views/refused/refused.tsx"), "Refused"),
  validateSearch: readRefusedSearch,
});

const outages = createRoute({
  getParentRoute: () => root,
  path: "/outages",
  component: lazyRouteComponent(() => import("../views/outages/outages.tsx"), "Outages"),
});

const quarantine = createRoute({
  getParentRoute: () => root,
  path: "/quarantine",
  component: lazyRouteComponent(() => import("../views/quarantine/quarantine.tsx"), "Quarantine"),
  validateSearch: (search: Record<string, unknown>): { prefix?: string | undefined } =>
    textsIn(search, ["prefix"]),
});

export const moreRoutes = [groups, group, limits, tokens, audit, refused, outages, quarantine] as const;
