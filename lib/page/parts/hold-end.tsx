import { instantOfWall, wallInput } from "../data/wall-input.ts";
import { useZone } from "../hooks/use-zone.ts";

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
      <label className="dialog-reason">
        Ends ({zone}); empty: when it is released
        <input
          type="datetime-local"
          value={until === undefined ? "" : wallInput(Date.parse(until), zone)}
          onChange={(event) => {
            const at = instantOfWall(event.target.value, zone);
            onChange(at === null ? undefined : new Date(at).toISOString());
          }}
        />
      </label>
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
