/**
 * Whether two values are the same once they are JSON: a member that is undefined is none, and JSON knows no negative zero. Without writing
 * and reading either, which took a tenth of the time of a batch of edits.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a) || Array.isArray(b)) return sameArrays(a, b);
  const [own, others] = [membersOf(a), membersOf(b)];
  if (own.length !== others.length) return false;
  const inB = new Map(others);
  return own.every(([name, value]) => inB.has(name) && sameJson(value, inB.get(name)));
}

function sameArrays(a: object, b: object): boolean {
  return (
    Array.isArray(a) &&
    Array.isArray(b) &&
    a.length === b.length &&
    a.every((value, index) => sameJson(value, b[index]))
  );
}

function membersOf(value: object): [string, unknown][] {
  return Object.entries(value).filter(([, member]) => member !== undefined);
}
