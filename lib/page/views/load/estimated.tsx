interface EstimatedProps {
  /** How many of the answers are estimates. */
  days: number;
  of: number;
}

/** Says where numbers come from a sample, and why. */
export function Estimated({ days, of }: EstimatedProps) {
  if (days === 0) return null;
  return (
    <p className="minute-note quiet">
      {of === 1 ? "The numbers are estimates" : `The numbers of ${days} of ${of} days are estimates`}: more
      than 20,000 runs are planned before the end of the time, so some thousand schedules stand for all, or
      rules that run often were not followed to the end.
    </p>
  );
}
