/** The views of the bar, in its order. The other ones are in the menu. */
export const mainViews = [
  { to: "/", name: "Now" },
  { to: "/schedules", name: "Schedules" },
  { to: "/jobs", name: "Jobs" },
  { to: "/agenda", name: "Agenda" },
  { to: "/load", name: "Load" },
  { to: "/holds", name: "Holds" },
] as const;
