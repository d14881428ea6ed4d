import { type FormEvent, useState } from "react";

/** Opens the limits of a target that has none yet, by its name. */
export function TargetForm({ onOpen }: { onOpen(target: string): void }) {
  const [target, setTarget] = useState("");
  const open = (event: FormEvent) => {
    event.preventDefault();
    if (target.trim() !== "") onOpen(target.trim());
  };
  return (
    <form onSubmit={open} className="filters one-field">
      <label>
        <span>Limit another target</span>
        <input
          type="text"
          spellCheck={false}
          placeholder="e.g. queue/orders"
          value={target}
          onChange={(event) => setTarget(event.target.value)}
        />
      </label>
      <button type="submit" className="button" disabled={target.trim() === ""}>
        Set its limits …
      </button>
    </form>
  );
}
