export interface ProgressProps {
  text: string;
  /** Undefined where the whole is not known. */
  share?: { done: number; of: number } | undefined;
}

/** How far an action of many parts is. */
export function Progress({ text, share }: ProgressProps) {
  return (
    <div className="progress">
      <p role="status">{text}</p>
      {share === undefined ? null : (
        <progress aria-label="Done so far" value={Math.min(share.done, share.of)} max={share.of} />
      )}
    </div>
  );
}
