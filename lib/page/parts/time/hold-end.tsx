import { useState } from "react";
import { useZone } from "../../hooks/use-zone.ts";
import type { DraftState } from "./wall-draft.ts";
import { WallField } from "./wall-field.tsx";

interface HoldEndProps {
  until: string | undefined;
  onChange(until: string | undefined): void;
  onState(state: DraftState): void;
}

const hourMs = 3_600_000;
const quick = [1, 2, 8, 24] as const;

/** The end of a hold, with its field and with the reason why the hold cannot be set yet. */
export function useHoldEnd() {
  const [until, setUntil] = useState<string>();
  const [state, setState] = useState<DraftState>("none");
  return {
    until,
    fields: <HoldEnd until={until} onChange={setUntil} onState={setState} />,
    // Taken as it is, the hold would have no end.
    fieldFault:
      state === "partial" ? "The end is no whole date and time. Complete it, or clear the field." : undefined,
  };
}

/** When a hold ends by itself; without it, only a release ends it. */
function HoldEnd({ until, onChange, onState }: HoldEndProps) {
  const zone = useZone();
  return (
    <div className="hold-end">
      <WallField
        className="dialog-reason"
        label={`Ends (${zone}); empty: when it is released`}
        at={until === undefined ? undefined : Date.parse(until)}
        onState={onState}
        onChange={(at) => onChange(at === undefined ? undefined : new Date(at).toISOString())}
      />
      {quick.map((hours) => (
        <button
          key={hours}
          type="button"
          className="button"
          onClick={() => onChange(new Date(Date.now() + hours * hourMs).toISOString())}
        >
          {hours} h
        </button>
      ))}
    </div>
  );
}
