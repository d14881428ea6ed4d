import { type ReactNode, useId } from "react";

interface PanelProps {
  title: ReactNode;
  /** A sentence beside the title. */
  note?: ReactNode;
  children: ReactNode;
}

export function Panel({ title, note, children }: PanelProps) {
  const id = useId();
  return (
    <section className="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {note === undefined ? null : <small>{note}</small>}
      </header>
      {children}
    </section>
  );
}
