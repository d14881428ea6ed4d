import type { Schedule } from "../../../client/schedule.ts";
import type { JsonObject } from "../../data/document/json-text.ts";
import { differingFields } from "../../data/document/same-json.ts";
import { Actor } from "../../parts/actor.tsx";
import { Instant } from "../../parts/time/instant.tsx";

interface ConflictProps {
  /** The version that the edit began with, and what it held. */
  base: { version: number; value: JsonObject };
  theirs: Schedule;
  theirValue: JsonObject;
  onKeep(): void;
  onTake(): void;
}

/** Another version was saved meanwhile: nothing is overwritten before the editor has seen it. */
export function Conflict({ base, theirs, theirValue, onKeep, onTake }: ConflictProps) {
  const fields = differingFields(base.value, theirValue);
  return (
    <div className="notice bad conflict" role="alert">
      <p>
        <Actor name={theirs.updatedBy} /> saved version {theirs.version}{" "}
        <Instant at={theirs.updatedAt} as="relative" /> while you edited version {base.version}.{" "}
        {fields.length === 0 ? "It changed only the state." : `It changed: ${fields.join(", ")}.`} Your text
        is kept and not saved.
      </p>
      <button type="button" className="button" onClick={onKeep}>
        Reload version {theirs.version}, keep my text
      </button>
      <button type="button" className="button" onClick={onTake}>
        Drop my text, take version {theirs.version}
      </button>
    </div>
  );
}
