/** JSON that was written when its statement was checked. */
export class JsonText {
  readonly text: string;
  readonly #value: unknown;

  constructor(value: unknown) {
    this.text = JSON.stringify(value);
    this.#value = value;
  }

  toJSON(): unknown {
    return this.#value;
  }

  toString(): string {
    return textOf(this.#value);
  }
}

/** Of any value, also of one that has none. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "[object]";
  }
}

/** Text that is no JSON where there is none: the server refuses it. */
export function jsonOf(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  try {
    return JSON.stringify(value) ?? textOf(value);
  } catch {
    return textOf(value);
  }
}
