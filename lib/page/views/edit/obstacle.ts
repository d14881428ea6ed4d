import { isObject, type JsonObject, type ReadText, valueAt } from "../../data/document/json-text.ts";
import { hasNoWhen } from "../../data/edit-queries.ts";

/** The schedule cannot be saved before this is done. */
export interface Obstacle {
  text: string;
  /** The field to go to; null for the first one with a fault. */
  field: string | null;
}

interface Edit {
  read: ReadText;
  isPayloadJson: boolean;
  value: JsonObject;
  /** Whether the server would refuse it. */
  isFaulty: boolean;
}

/** The first obstacle of a save; null when nothing is in the way. */
export function obstacleOf({ read, isPayloadJson, value, isFaulty }: Edit): Obstacle | null {
  if (!read.ok) return { text: "The schedule’s text is not a JSON object.", field: "json" };
  if (!isPayloadJson) return { text: "The payload is not JSON.", field: "payload" };
  const missing = missingOf(value);
  if (missing !== null) return missing;
  return isFaulty ? { text: "Not saved yet: the server would refuse it.", field: null } : null;
}

/** The first thing that every schedule needs and this one lacks. The server is not asked about it. */
export function missingOf(value: JsonObject): Obstacle | null {
  if (hasNoWhen(value)) return { text: "Write when it runs.", field: "when" };
  const { when, target } = value;
  if (Array.isArray(when) && when.includes(""))
    return { text: "Write the empty expression, or remove it.", field: whenField(when.indexOf("")) };
  if (target === undefined || target === null) return { text: "Choose a target.", field: "target" };
  const needed = neededOfTarget.find(({ path, empty }) => {
    const [kind = ""] = path;
    return isObject(target) && Object.hasOwn(target, kind) && valueAt(target, path) === empty;
  });
  return needed === undefined ? null : { text: needed.text, field: ["target", ...needed.path].join(".") };
}

/** The name of one of the expressions of `when`, whose first one has that of all. */
export const whenField = (place: number): string => (place === 0 ? "when" : `when[${place}]`);

/** An event needs nothing: its bus, its source and its type have defaults. */
const neededOfTarget = [
  { path: ["queue"], empty: "", text: "Give it a queue." },
  { path: ["handler"], empty: "", text: "Give it a handler." },
  { path: ["lambda"], empty: "", text: "Give it a function." },
  { path: ["webhook", "url"], empty: undefined, text: "Give it a URL." },
] as const;

/** Moves the focus to a field of the editor, or to the first one that is shown with a fault. */
export function focusField(field: string | null): void {
  const found =
    field === null
      ? document.querySelector<HTMLElement>('.form [aria-invalid="true"]')
      : document.querySelector<HTMLElement>(`[data-field="${CSS.escape(field)}"]`);
  // An editor of JSON lives in a shadow root.
  const inner = found?.shadowRoot?.querySelector<HTMLElement>("[contenteditable]");
  (inner ?? found)?.focus();
}
