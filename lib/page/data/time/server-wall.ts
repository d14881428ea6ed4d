const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" });

/** `Sun 2027-03-28` of the server's `2027-03-28T03:00:00+02:00`: a time on the clocks of a schedule's zone. */
export function serverDayText(wall: string): string {
  const date = wall.slice(0, 10);
  return `${weekday.format(new Date(`${date}T00:00:00Z`))} ${date}`;
}

/** `03:00` of the same, or `03:00:00`. */
export const serverClockText = (wall: string, { hasSeconds }: { hasSeconds: boolean }): string =>
  wall.slice(11, hasSeconds ? 19 : 16);

/** Whether a time is not at a full minute: then all of its list are shown with their seconds. */
export const isWithinMinute = (wall: string): boolean => wall.slice(17, 19) !== "00";
