/** The rows on the screen, in the order of the document. */
const rows = () => [...document.querySelectorAll<HTMLElement>("main [data-row]")];

/** The link that opens a row: the one that is marked, or else the first. */
const linkOf = (row: Element | undefined) =>
  row?.querySelector<HTMLElement>("[data-open]") ?? row?.querySelector<HTMLElement>("a, button");

/** How many frames a key waits for its row. */
const framesMax = 60;

/**
 * Gives the focus to the link of the next row, or of the one before. Enter opens it. A table renders
 * only the rows near the screen, so a key that is pressed quickly may come before its row.
 */
export function moveInRows(step: 1 | -1, frames = 0): void {
  const all = rows();
  const current = document.activeElement?.closest<HTMLElement>("[data-row]");
  const place = current === null || current === undefined ? null : all.indexOf(current);
  const next = place === null ? all.find(isOnScreen) : all[place + step];
  if (next === undefined && current != null && frames < framesMax && goesOn(current, step))
    requestAnimationFrame(() => moveInRows(step, frames + 1));
  else linkOf(next)?.focus();
}

/** Whether the table of a row has one more, which may not be rendered yet. The first row has the number 2. */
function goesOn(row: HTMLElement, step: 1 | -1): boolean {
  const wanted = Number(row.getAttribute("aria-rowindex")) + step;
  const count = Number(row.closest("table")?.getAttribute("aria-rowcount"));
  return wanted >= 2 && (count === -1 || wanted <= count);
}

const isOnScreen = (row: HTMLElement) => row.getBoundingClientRect().top >= 0;
