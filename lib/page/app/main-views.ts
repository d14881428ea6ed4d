import { usePhone } from "../hooks/use-narrow.ts";

/** The views of the bar, in its order. The other ones are in the menu. */
export const mainViews = [
  { to: "/", name: "Now" },
  { to: "/schedules", name: "Schedules" },
  { to: "/jobs", name: "Jobs" },
  { to: "/agenda", name: "Agenda" },
  { to: "/load", name: "Load" },
  { to: "/holds", name: "Holds" },
] as const;

/** The bar of a phone has room for this many; the menu begins with the other ones. */
const onPhone = 4;

export function useBarViews() {
  const isPhone = usePhone();
  return isPhone
    ? { inBar: mainViews.slice(0, onPhone), inMenu: mainViews.slice(onPhone) }
    : { inBar: mainViews, inMenu: [] };
}
