import { useWindowVirtualizer } from "@tanstack/react-virtual";
import {
  memo,
  type ReactNode,
  type RefObject,
  useCallback,
  useEffect,
  useEffectEvent,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import "../look/tables.css";
import type { More } from "../data/more.ts";
import { useOpenedRow } from "./opened-row.ts";
import { useReturnedRow } from "./returned-row.ts";

export interface Column<Row> {
  name: string;
  /** The class of its cells, by which the style sheet gives widths and hides it on a phone. */
  className: string;
  /** The content of the cell. It is called as a function: content with hooks must be a component in it. */
  cell(row: Row): ReactNode;
}

interface VirtualTableProps<Row> extends More {
  label: string;
  className: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf(row: Row): string;
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
  const offset = useOffset(body);
  // With a new function the virtualizer would go through all rows in each frame of scrolling.
  const getItemKey = useCallback(
    (index: number) => {
      const row = rows[index];
      return row === undefined ? index : keyOf(row);
    },
    [rows, keyOf],
  );
  const virtualizer = useWindowVirtualizer({
    count: rows.length,
    estimateSize: () => rowHeight,
    overscan: 12,
    scrollMargin: offset,
    getItemKey,
  });
  useReturnedRow({
    label,
    body,
    count: rows.length,
    keyAt: getItemKey,
    show: (index) => virtualizer.scrollToIndex(index),
  });
  useOpenedRow(body);
  const shown = virtualizer.getVirtualItems();
  const last = shown.at(-1)?.index ?? 0;
  const reachEnd = useEffectEvent(onEnd);
  // After each render: a page of a search may bring no row, and then only the answer has changed.
  useEffect(() => {
    if (hasMore && last >= rows.length - ahead) reachEnd();
  });
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
              <TableRow
                key={key}
                measure={virtualizer.measureElement}
                index={index}
                top={start - offset}
                row={row}
                columns={columns}
              />
            );
          })}
        </tbody>
      </table>
      {rows.length === 0 ? <div className="rows-none">{empty}</div> : null}
    </div>
  );
}

/** The distance of an element from the top of the document. */
function useOffset(element: RefObject<HTMLElement | null>): number {
  const [offset, setOffset] = useState(0);
  // The content above the element may grow when its answer comes, and then the body grows too. To
  // measure after each render would lay out the page twice in each frame of scrolling.
  useLayoutEffect(() => {
    const measure = () => {
      if (element.current !== null)
        setOffset(Math.round(element.current.getBoundingClientRect().top + scrollY));
    };
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(document.body);
    return () => observer.disconnect();
  }, [element]);
  return offset;
}

interface TableRowProps<Row> {
  measure(element: HTMLElement | null): void;
  index: number;
  /** Its distance from the first row. */
  top: number;
  row: Row;
  columns: readonly Column<Row>[];
}

/** Scrolling by a row renders the rows that come, and not again all that stay. */
const TableRow = memo(function TableRow<Row>({ measure, index, top, row, columns }: TableRowProps<Row>) {
  return (
    <tr
      ref={measure}
      data-index={index}
      data-row
      aria-rowindex={index + 2}
      className="row"
      style={{ transform: `translateY(${top}px)` }}
    >
      {columns.map(({ name, className, cell }) => (
        <td key={name} className={className}>
          {cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: TableRowProps<Row>) => ReactNode;
