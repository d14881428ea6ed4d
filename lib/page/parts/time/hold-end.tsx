import { useZone } from "../../hooks/use-zone.ts";
import { WallField } from "./wall-field.tsx";

interface HoldEndProps {
  until: string | undefined;
  onChange(until: string | undefined): void;
}

const hourMs = 3_600_000;
const quick = [1, 2, 8, 24] as const;

/** When a hold ends by itself; without it, only a release ends it. */
export function HoldEnd({ until, onChange }: HoldEndProps) {
  const zone = useZone();
  return (
    <div className="hold-end">
      <WallField
        className="dialog-reason"
        label={`Ends (${zone}); empty: when it is released`}
        at={until === undefined ? undefined : Date.parse(until)}
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
