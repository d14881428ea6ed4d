const weekday = new Intl.DateTimeFormat("en-GB", { weekday: "short", timeZone: "UTC" });

/**
 * `Sun 2027-03-28 03:00:00` of the server's `2027-03-28T03:00:00+02:00`: a time on the clocks of a
 * schedule's zone.
 */
export function serverWallText(wall: string): string {
  const date = wall.slice(0, 10);
  return `${weekday.format(new Date(`${date}T00:00:00Z`))} ${date} ${wall.slice(11, 19)}`;
}
