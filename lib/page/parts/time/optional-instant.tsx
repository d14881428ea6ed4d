import { useZone } from "../../hooks/use-zone.ts";
import { WallField } from "./wall-field.tsx";

interface OptionalInstantProps {
  label: string;
  value: string | undefined;
  onChange(value: string | undefined): void;
}

/** An instant on the clocks of the screen's zone, or none. */
export function OptionalInstant({ label, value, onChange }: OptionalInstantProps) {
  const zone = useZone();
  return (
    <WallField
      label={label}
      hint="Press Enter to apply."
      title={`On the clocks of ${zone}`}
      at={value === undefined ? undefined : Date.parse(value)}
      onChange={(at) => onChange(at === undefined ? undefined : new Date(at).toISOString())}
    />
  );
}
