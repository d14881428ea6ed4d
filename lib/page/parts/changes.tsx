import type { Json } from "../../client/json.ts";
import type { Change } from "../../client/time.ts";
import "../look/changes.css";

/** The fields that differ, each with its value before and after. */
export function Changes({ changes }: { changes: readonly Change[] }) {
  return (
    <table className="changes">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Before</th>
          <th scope="col">After</th>
        </tr>
      </thead>
      <tbody>
        {changes.flatMap(byField).map(({ path, before, after }) => (
          <tr key={path}>
            <th scope="row">{path === "" ? "the whole" : path}</th>
            <td className="before">{valueText(before)}</td>
            <td className="after">{valueText(after)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface Row {
  path: string;
  before: Json | undefined;
  after: Json | undefined;
}

/** A whole that appears or goes is shown field by field. */
function byField({ path, before, after }: Change): Row[] {
  const old = membersOf(before);
  const now = membersOf(after);
  if (path !== "" || (old === null && now === null)) return [{ path, before, after }];
  const names = new Set([...Object.keys(old ?? {}), ...Object.keys(now ?? {})]);
  return [...names]
    .map((name): Row => ({ path: name, before: old?.[name] ?? null, after: now?.[name] ?? null }))
    .filter(({ before: was, after: is }) => JSON.stringify(was) !== JSON.stringify(is));
}

function membersOf(value: Json | undefined): { [name: string]: Json } | null {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : null;
}

/** Values that are secret or too large are not in the answer. */
function valueText(value: Json | undefined): string {
  if (value === undefined) return "not recorded";
  if (value === null) return "–";
  return typeof value === "string" ? value : JSON.stringify(value, null, 1);
}
