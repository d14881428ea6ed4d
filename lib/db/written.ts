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

/** The text of any value; `[object]` for one that has no text. */
export function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return "[object]";
  }
}

/** JSON of a value. For a value without JSON it is plain text, which the server refuses. */
export function jsonOf(value: unknown): string {
  if (value instanceof JsonText) return value.text;
  try {
    return JSON.stringify(value) ?? textOf(value);
  } catch {
    return textOf(value);
  }
}
