/**
 * Whether two values are equal as JSON: an undefined member counts as missing, and JSON has no
 * negative zero. It compares without writing and reading JSON, which took a tenth of the time of a
 * batch of edits.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return sameArrays(a, b);
  return sameMembers(a, b);
}

function sameMembers(a: object, b: object): boolean {
  let others = Object.keys(b).filter((name) => Reflect.get(b, name) !== undefined).length;
  for (const name of Object.keys(a)) {
    const value: unknown = Reflect.get(a, name);
    if (value === undefined) continue;
    others -= 1;
    if (!Object.hasOwn(b, name) || !sameJson(value, Reflect.get(b, name))) return false;
  }
  return others === 0;
}

function sameArrays(a: object, b: object): boolean {
  return (
    Array.isArray(a) &&
    Array.isArray(b) &&
    a.length === b.length &&
    a.every((value, index) => sameJson(value, b[index]))
  );
}
