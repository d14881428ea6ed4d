/** After a reload of the tab: the text is not the stored one, and the reader may have forgotten it. */
export function Restored({ version, onDiscard }: { version: number | null; onDiscard: () => void }) {
  return (
    <div className="notice conflict" role="status">
      <p>Your unsaved edit{version === null ? "" : ` of version ${version}`} was restored.</p>
      <button type="button" className="button" onClick={onDiscard}>
        Discard it
      </button>
    </div>
  );
}
