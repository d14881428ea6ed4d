import { CopyButton } from "./copy-button.tsx";

/** The first steps, shown where there is no schedule yet. */
export function FirstSchedule() {
  return (
    <span className="first">
      There is no schedule yet. A schedule is a key, a time and a target; this one runs each minute:
      <CopyButton text='carillon put hello --when "every 1m" --event default' />
    </span>
  );
}
