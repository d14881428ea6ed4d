/** Commands, by number, that may be read together. */
export interface Listed {
  ids: string[];
  /** Whether they have failed before. Such commands are read apart from new ones. */
  tried: boolean;
}

/** A listed command, without the command itself. */
export interface WaitingRow {
  id: string;
  caller: string;
  bytes: number;
  tried: boolean;
  /** The command of another caller that is the last one before it of the same key. */
  prior: string | null;
}

/** The most text of commands that is read at once; one command is always read. */
const bytesMax = 8 * 1024 * 1024;
/** A turn ends at either of these. One command is always taken. */
const turn = { rows: 100, bytes: 1024 * 1024 };

/**
 * Divides commands into lists of up to `together` that are applied one after the other. `rows` are
 * in the order of their numbers. Each caller's commands stay in their order, and no command comes
 * into a list before an earlier one of its key. Each round takes a turn of each caller. If several
 * callers wait, the first round is a list of its own: a caller with few commands does not share a
 * long transaction with a caller that has many.
 */
export function listsByTurns(rows: readonly WaitingRow[], together: number): Listed[] {
  const [first = [], ...others] = roundsOf(rows);
  const isShared = first.some(({ caller }) => caller !== first[0]?.caller);
  const later = others.flat();
  return isShared ? [...cut(first, together), ...cut(later, together)] : cut([...first, ...later], together);
}

interface Line {
  rows: WaitingRow[];
  taken: number;
}

/** Leaves out commands that wait for an unlisted one, and later commands of the same callers. */
function roundsOf(rows: readonly WaitingRow[]): WaitingRow[][] {
  const lines = new Map<string, Line>();
  for (const row of rows) {
    const line = lines.get(row.caller);
    if (line === undefined) lines.set(row.caller, { rows: [row], taken: 0 });
    else line.rows.push(row);
  }
  const placed = new Set<string>();
  const rounds: WaitingRow[][] = [];
  for (;;) {
    const round = [...lines.values()].flatMap((line) => takeTurn(line, placed));
    if (round.length === 0) return rounds;
    rounds.push(round);
  }
}

function takeTurn(line: Line, placed: Set<string>): WaitingRow[] {
  const taken: WaitingRow[] = [];
  let bytes = 0;
  for (const row of line.rows.slice(line.taken, line.taken + turn.rows)) {
    if (bytes >= turn.bytes || (row.prior !== null && !placed.has(row.prior))) break;
    taken.push(row);
    placed.add(row.id);
    bytes += row.bytes;
  }
  line.taken += taken.length;
  return taken;
}

function cut(rows: readonly WaitingRow[], together: number): Listed[] {
  const lists: Listed[] = [];
  let bytes = 0;
  for (const row of rows) {
    const list = lists.at(-1);
    if (list === undefined || list.tried !== row.tried || list.ids.length >= together || bytes >= bytesMax) {
      lists.push({ ids: [row.id], tried: row.tried });
      bytes = row.bytes;
    } else {
      list.ids.push(row.id);
      bytes += row.bytes;
    }
  }
  return lists;
}
