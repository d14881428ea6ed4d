import { dateText, minuteText } from "./zone.ts";

/** The value of an `<input type="datetime-local">` for an instant in a zone. */
export function wallInput(at: number, zone: string): string {
  return `${dateText(at, zone)}T${minuteText(at, zone)}`;
}

const rounds = 3;

/**
 * The instant of a wall time in a zone: by the difference between the wall time of a guess and the
 * wanted one. Of a time that occurs twice the first is meant, and one in a gap becomes that after it.
 * Null if the text is no time.
 */
export function instantOfWall(text: string, zone: string): number | null {
  const wanted = Date.parse(`${text}Z`);
  if (Number.isNaN(wanted)) return null;
  let at = wanted;
  for (let round = 0; round < rounds; round++) at += wanted - Date.parse(`${wallInput(at, zone)}Z`);
  return at;
}
