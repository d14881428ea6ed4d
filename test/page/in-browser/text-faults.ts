interface Box {
  node: Node;
  text: string;
  left: number;
  right: number;
  top: number;
  bottom: number;
  /** The bar that keeps its place while others scroll beneath it. */
  bar: Element | null;
}

/** Less than this is the rounding of a font's metrics. */
const tolerance = 2;

/**
 * Faults of the texts as they are laid out: texts over each other, texts that are cut off by an
 * element around them, and a document that is wider than the window.
 */
export function textFaults(): string[] {
  const faults: string[] = [];
  const boxes: Box[] = [];
  const { scrollWidth, clientWidth } = document.documentElement;
  if (scrollWidth > clientWidth) faults.push(`the document is ${scrollWidth - clientWidth} px too wide`);
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent?.trim() ?? "";
    if (element === null || text === "" || isHidden(element)) continue;
    if (/NaN|undefined|Invalid Date|\[object/.test(text)) faults.push(`“${text}” is shown`);
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const { left, right, top, bottom } of range.getClientRects()) {
      const box = { node, text, left, right, top, bottom, bar: barOf(element) };
      const clipped = clip(box, element);
      if (clipped === "cut") faults.push(`“${text}” is cut off`);
      else if (clipped !== null) boxes.push(clipped);
    }
  }
  return [...faults, ...overlaps(boxes)];
}

/** The opaque bar at the foot of a phone that holds an element. */
const barOf = (element: Element): Element | null => {
  const bar = element.closest(".save-line");
  return bar !== null && getComputedStyle(bar).position === "fixed" ? bar : null;
};

/** Texts for screen readers only, in lists that are not open, and out of the page. */
function isHidden(element: Element): boolean {
  if (element.closest("option, noscript, title, .skip-link") !== null) return true;
  for (let each: Element | null = element; each !== null; each = each.parentElement)
    if (getComputedStyle(each).clipPath === "inset(50%)") return true;
  return !element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
}

/**
 * The part of a box that its ancestors show; null if they have scrolled it away, and "cut" where a
 * reader cannot get to the rest.
 */
function clip(box: Box, element: Element): Box | "cut" | null {
  const seen = { ...box };
  for (let each: Element | null = element; each !== null; each = each.parentElement) {
    const style = getComputedStyle(each);
    if (style.position === "fixed") break;
    if (each === document.body || style.overflowX === "visible") continue;
    const edge = each.getBoundingClientRect();
    const isBeyond = seen.right > edge.right + tolerance || seen.left < edge.left - tolerance;
    const isBelow = seen.bottom > edge.bottom + tolerance || seen.top < edge.top - tolerance;
    const scrolls = /auto|scroll/.test(`${style.overflowX} ${style.overflowY}`);
    const isMarked = isBelow ? style.webkitLineClamp !== "none" : style.textOverflow === "ellipsis";
    const hasHint = isMarked && hintOf(each).includes(box.text.replace(/…$/, ""));
    if ((isBeyond || isBelow) && !scrolls && !hasHint) return "cut";
    seen.left = Math.max(seen.left, edge.left);
    seen.right = Math.min(seen.right, edge.right);
    seen.top = Math.max(seen.top, edge.top);
    seen.bottom = Math.min(seen.bottom, edge.bottom);
  }
  return seen.right - seen.left > tolerance && seen.bottom - seen.top > tolerance ? seen : null;
}

/** The hints that tell the whole text of a shortened element. */
function hintOf(element: Element): string {
  const around = element.closest("[title]")?.getAttribute("title") ?? "";
  return [around, ...[...element.querySelectorAll("[title]")].map((each) => each.getAttribute("title"))].join(
    "\n",
  );
}

function overlaps(boxes: readonly Box[]): string[] {
  return boxes.flatMap((a, place) =>
    boxes
      .slice(place + 1)
      .filter(
        (b) =>
          a.node !== b.node &&
          // A text beneath a bar scrolls out from it.
          a.bar === b.bar &&
          Math.min(a.right, b.right) - Math.max(a.left, b.left) > tolerance &&
          Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > tolerance,
      )
      .map((b) => `“${a.text}” and “${b.text}” are over each other`),
  );
}
