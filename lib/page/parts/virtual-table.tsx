import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from "react";
import "../look/tables.css";

export interface Column<Row> {
  name: string;
  /** The class of its cells, by which the style sheet gives widths and hides it on a phone. */
  className: string;
  /** The content of the cell. It is called as a function: content with hooks must be a component in it. */
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

/** The height of a row before it is measured. */
const rowHeight = 44;
/** The next page is requested this many rows before the end. */
const ahead = 40;

/**
 * A table of any length: only the rows on the screen exist. Its parts are those of a table, so that
 * they are read as one, and the style sheet places them as blocks.
 */
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
  const body = useRef<HTMLTableSectionElement>(null);
  const [offset, setOffset] = useState(0);
  // The content above the table may grow when its answer comes.
  useLayoutEffect(() => {
    if (body.current !== null) setOffset(Math.round(body.current.getBoundingClientRect().top + scrollY));
  });
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
    <div className={`table ${className}`}>
      <table aria-label={label} aria-rowcount={hasMore ? -1 : rows.length + 1}>
        <thead>
          <tr className="head">
            {columns.map(({ name, className: of }) => (
              <th key={name} scope="col" className={of}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body} className="rows" style={{ height: virtualizer.getTotalSize() }}>
          {shown.map(({ index, start, key }) => {
            const row = rows[index];
            return row === undefined ? null : (
              <tr
                key={key}
                ref={virtualizer.measureElement}
                data-index={index}
                data-row
                aria-rowindex={index + 2}
                className="row"
                style={{ transform: `translateY(${start - offset}px)` }}
              >
                {columns.map(({ name, className: of, cell }) => (
                  <td key={name} className={of}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            );
          })}
        </tbody>
      </table>
      {rows.length === 0 ? <p className="rows-none">{empty}</p> : null}
    </div>
  );
}
