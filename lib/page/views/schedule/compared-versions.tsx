import { useId, useState } from "react";
import type { Json } from "../../../client/json.ts";
import type { Change, Version } from "../../../client/time.ts";
import { differingFields } from "../../data/document/same-json.ts";
import { Changes } from "../../parts/changes.tsx";

type Fields = Readonly<Record<string, Json>>;

/** Two versions field by field. Their payloads are in the changes of each version. */
export function ComparedVersions({ versions }: { versions: readonly Version[] }) {
  const numbers = [...new Set(versions.map(({ version }) => version))];
  const [newest, second] = numbers;
  const [older, setOlder] = useState<number | undefined>(undefined);
  const [newer, setNewer] = useState<number | undefined>(undefined);
  if (newest === undefined || second === undefined) return null;
  const [from, to] = [older ?? second, newer ?? newest];
  const before = fieldsOf(versions, from);
  const after = fieldsOf(versions, to);
  return (
    <details className="compared">
      <summary>Compare two versions</summary>
      <div className="compared-choice">
        <Choice label="Version" numbers={numbers} value={from} onChange={setOlder} />
        <Choice label="with version" numbers={numbers} value={to} onChange={setNewer} />
      </div>
      {before === null || after === null ? (
        <p className="quiet">The fields of one of them are not among the versions that are shown.</p>
      ) : (
        <Compared changes={changesBetween(before, after)} />
      )}
    </details>
  );
}

function Compared({ changes }: { changes: readonly Change[] }) {
  if (changes.length === 0)
    return (
      <p className="quiet">
        All fields are the same. A hold or its end makes a version too. Payloads are not compared here: the
        changes of each version, below, have them.
      </p>
    );
  return <Changes changes={changes} />;
}

interface ChoiceProps {
  label: string;
  numbers: readonly number[];
  value: number;
  onChange(value: number): void;
}

function Choice({ label, numbers, value, onChange }: ChoiceProps) {
  const id = useId();
  return (
    <label htmlFor={id}>
      {label}{" "}
      <select id={id} value={value} onChange={(event) => onChange(Number(event.target.value))}>
        {numbers.map((number) => (
          <option key={number}>{number}</option>
        ))}
      </select>
    </label>
  );
}

/** A version that changes only the state has the fields of an earlier one. */
function fieldsOf(versions: readonly Version[], number: number): Fields | null {
  const found = versions.find(({ version, spec }) => version <= number && spec !== undefined);
  return found?.spec === undefined ? null : Object.fromEntries(Object.entries(found.spec));
}

function changesBetween(before: Fields, after: Fields): Change[] {
  return differingFields(before, after).map((path) => ({
    path,
    before: before[path] ?? null,
    after: after[path] ?? null,
  }));
}
