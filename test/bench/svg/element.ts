export type Attributes = Readonly<Record<string, string | number | undefined>>;

/** An element as text. Children are already elements; text goes through `words`. */
export function element(name: string, attributes: Attributes, ...children: readonly string[]): string {
  const written = Object.entries(attributes)
    .filter(([, value]) => value !== undefined)
    .map(
      ([attribute, value]) =>
        ` ${attribute}="${escaped(typeof value === "number" ? short(value) : String(value))}"`,
    )
    .join("");
  return children.length === 0 ? `<${name}${written}/>` : `<${name}${written}>${children.join("")}</${name}>`;
}

export function words(text: string): string {
  return escaped(text);
}

/** `M 1 2 L 3 4 …`; undefined when there is nothing to draw. */
export function path(points: readonly (readonly [number, number])[]): string | undefined {
  if (points.length === 0) return undefined;
  return points.map(([x, y], index) => `${index === 0 ? "M" : "L"}${short(x)} ${short(y)}`).join("");
}

/** A tenth of a pixel is finer than visible, and makes the same picture the same text. */
function short(value: number): string {
  if (!Number.isFinite(value)) throw new Error(`A picture cannot show the value ${value}.`);
  return String(Math.round(value * 10) / 10);
}

function escaped(text: string): string {
  return text.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
