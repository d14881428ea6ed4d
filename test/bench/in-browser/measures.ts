import type { Scrolled } from "../scrolled.ts";

/** The time of one step of a reader, from the input to the frame that shows its answer. */
export async function timeOf(step: () => void, isShown: () => boolean): Promise<number> {
  const from = performance.now();
  step();
  while (!isShown()) {
    if (performance.now() - from > longestMs) throw new Error(`Nothing was shown within ${longestMs} ms.`);
    await frame();
  }
  return performance.now() - from;
}

const longestMs = 30_000;

const frame = () => new Promise<number>((resolve) => requestAnimationFrame(resolve));

function one<Element_ extends Element>(selector: string): Element_ {
  const found = document.querySelector<Element_>(selector);
  if (found === null) throw new Error(`The view has no element ${selector}.`);
  return found;
}

const firstKey = () => document.querySelector(".rows .row .key")?.textContent?.trim() ?? "";

/** From the link in the bar to the first row of the list. */
export function openList(): Promise<number> {
  return timeOf(
    () => one<HTMLAnchorElement>('nav a[href$="schedules"]').click(),
    () => firstKey() !== "",
  );
}

/** Types a text as a reader does: React reads a field's value from the event. */
function type(field: HTMLInputElement, text: string): void {
  const setter = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value")?.set;
  setter?.call(field, text);
  field.dispatchEvent(new Event("input", { bubbles: true }));
}

/** From the last letter of a prefix to a list in which the first key begins with it. */
export function searchPrefix(prefix: string): Promise<number> {
  return timeOf(
    () => type(one<HTMLInputElement>(".filters input"), prefix),
    () => firstKey().startsWith(prefix),
  );
}

/** From Ctrl+K and a whole key to the heading of its view. */
export async function jumpTo(key: string): Promise<number> {
  const isListed = () => document.querySelector('[role="option"] .mono')?.textContent === key;
  const opened = await timeOf(
    () => dispatchEvent(new KeyboardEvent("keydown", { key: "k", ctrlKey: true })),
    () => document.querySelector('[role="combobox"]') !== null,
  );
  const field = one<HTMLInputElement>('[role="combobox"]');
  const listed = await timeOf(() => type(field, key), isListed);
  const shown = await timeOf(
    () => field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true })),
    () => document.querySelector("main h1")?.textContent === key,
  );
  return opened + listed + shown;
}

/** Scrolls down the list by four rows a frame, pages loading meanwhile. */
export async function scrollRows(rows: number): Promise<Scrolled> {
  const height = one<HTMLElement>(".rows .row").offsetHeight;
  const times: number[] = [];
  let before = await frame();
  while (scrollY < rows * height) {
    const from = scrollY;
    scrollBy(0, 4 * height);
    const at = await frame();
    times.push(at - before);
    before = at;
    // At the end of what is loaded: the next page is awaited, which drops no frame.
    if (scrollY === from) before = await moreRows();
  }
  return {
    rows: Math.round(scrollY / height),
    frames: times.length,
    dropped: times.filter((each) => each > 2 * screenMs).length,
    longestMs: Math.max(...times),
  };
}

const screenMs = 1_000 / 60;

async function moreRows(): Promise<number> {
  const { scrollHeight } = document.documentElement;
  let at = await frame();
  const from = at;
  while (document.documentElement.scrollHeight === scrollHeight) {
    if (at - from > longestMs) throw new Error("The list has no more rows.");
    at = await frame();
  }
  return at;
}
