/** The rows on the screen, in the order of the document. */
const rows = () => [...document.querySelectorAll<HTMLElement>("main [data-row]")];

/** The link that opens a row: the one that is marked, or else the first. */
const linkOf = (row: Element | undefined) =>
  row?.querySelector<HTMLElement>("[data-open]") ?? row?.querySelector<HTMLElement>("a, button");

/** Gives the focus to the link of the next row, or of the one before. Enter opens it. */
export function moveInRows(step: 1 | -1): void {
  const all = rows();
  const current = document.activeElement?.closest<HTMLElement>("[data-row]");
  const place = current === null || current === undefined ? null : all.indexOf(current);
  const next = place === null ? all.find(isOnScreen) : all[place + step];
  linkOf(next)?.focus();
}

const isOnScreen = (row: HTMLElement) => row.getBoundingClientRect().top >= 0;
