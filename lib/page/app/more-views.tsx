import { useQuery } from "@tanstack/react-query";
import { ownTokenQuery } from "../data/token-query.ts";
import { useSession } from "../hooks/session-context.ts";

/** The views of the menu, each with the operation without which it is empty. */
const views = [
  { to: "/groups", name: "Groups", operation: "listGroups" },
  { to: "/calendars", name: "Calendars", operation: "listCalendars" },
  { to: "/limits", name: "Limits", operation: "listLimits" },
  { to: "/tokens", name: "Tokens", operation: "getOwnToken" },
  { to: "/audit", name: "Audit", operation: "getAudit" },
  { to: "/refused", name: "Refused commands", operation: "listDeadCommands" },
  { to: "/outages", name: "Outages", operation: "listOutages" },
  { to: "/quarantine", name: "Quarantine", operation: "listQuarantine" },
] as const;

/** The menu has the views that the token may see, and none until that is known. */
export function useMoreViews() {
  const { carillon } = useSession();
  const { data } = useQuery(ownTokenQuery(carillon));
  const allowed = new Set(
    data?.may.flatMap(({ operations }) => operations.map(({ operation }) => operation)),
  );
  return views.filter(({ operation }) => allowed.has(operation));
}
