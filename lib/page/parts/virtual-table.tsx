import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";

export interface Column<Row> {
  name: string;
  /** The class of its cells, by which the style sheet gives widths and hides it on a phone. */
  className: string;
  cell(row: Row): ReactNode;
}

interface VirtualTableProps<Row> {
  label: string;
  className: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
  hasMore: boolean;
  /** Called when the reader comes near the last row that is loaded. */
  onEnd(): void;
  /** Shown where there are no rows. */
  empty: ReactNode;
}

const rowHeight = 44;
/** So many rows before the end the next page is asked for. */
const ahead = 40;

/** A table of any length: only the rows on the screen exist. */
export function VirtualTable<Row>({
  label,
  className,
  columns,
  rows,
  keyOf,
  hasMore,
  onEnd,
  empty,
}: VirtualTableProps<Row>) {
  const body = useRef<HTMLDivElement>(null);
  const [offset, setOffset] = useState(0);
  useLayoutEffect(() => setOffset(body.current?.offsetTop ?? 0), []);
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: offset,
    getItemKey: (index) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
  });
  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const reachEnd = useEffectEvent(onEnd);
  useEffect(() => {
    if (hasMore && last >= rows.length - ahead) reachEnd();
  }, [hasMore, last, rows.length]);
  return (
    <div
      className={`table ${className}`}
      // biome-ignore lint/a11y/useSemanticElements: the rows of a <table> cannot be placed one by one.
      role="table"
      aria-label={label}
      aria-rowcount={hasMore ? -1 : rows.length + 1}
    >
      <div className="head" role="row">
        {columns.map(({ name, className: of }) => (
          <span key={name} role="columnheader" className={of}>
            {name}
          </span>
        ))}
      </div>
      <div ref={body} className="rows" role="rowgroup" style={{ height: virtualizer.getTotalSize() }}>
        {shown.map(({ index, start, key }) => {
          const row = rows[index];
          return row === undefined ? null : (
            <div
              key={key}
              role="row"
              aria-rowindex={index + 2}
              className="row"
              style={{ transform: `translateY(${start - offset}px)` }}
            >
              {columns.map(({ name, className: of, cell }) => (
                <span key={name} role="cell" className={of}>
                  {cell(row)}
                </span>
              ))}
            </div>
          );
        })}
      </div>
      {rows.length === 0 ? <p className="rows-none">{empty}</p> : null}
    </div>
  );
}
