import { instantOfWall, wallInput } from "../data/wall-input.ts";
import { useZone } from "../hooks/use-zone.ts";

interface OptionalInstantProps {
  label: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
}

/** An instant on the clocks of the screen's zone, or none. */
export function OptionalInstant({ label, value, onChange }: OptionalInstantProps) {
  const zone = useZone();
  const at = value === undefined ? Number.NaN : Date.parse(value);
  return (
    <label>
      <span>{label}</span>
      <input
        type="datetime-local"
        title={`On the clocks of ${zone}`}
        value={Number.isNaN(at) ? "" : wallInput(at, zone)}
        onChange={(event) => {
          const chosen = instantOfWall(event.target.value, zone);
          onChange(chosen === null ? undefined : new Date(chosen).toISOString());
        }}
      />
    </label>
  );
}
