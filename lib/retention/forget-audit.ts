import type { Sql } from "../db/connect.ts";
import type { Log } from "../log/log.ts";
import { forgetOld, oldRowName } from "../quarantine/forget-old.ts";
import { isAside, waitsAside } from "../quarantine/quarantine.ts";
import type { Tried } from "../quarantine/try-rows.ts";

interface OldEntry extends Tried {
  id: string;
  at: Date;
}

/** Deletes audit entries past their retention. Returns their number. */
export function forgetAudit(
  deps: { sql: Sql; log: Log },
  days: number,
  timeIsUp: () => boolean,
): Promise<number> {
  return forgetOld<OldEntry>(
    deps,
    {
      most: 5_000,
      list: (sql, most) => {
        const item = oldRowName(sql, "audit", sql`a.id`);
        return sql<OldEntry[]>`
          select ${item} as item, ${isAside(sql, "forget", item)} as aside, a.id, a.at from carillon.audit a
          where a.at < (select carillon.clock()) - ${days} * interval '1 day' and not ${waitsAside(sql, "forget", item)} order by a.at, a.id limit ${most}`;
      },
      // Deleted by a function of the database, because the role of the tick has no right to delete
      // entries of the audit.
      drop: async (tx, rows) => {
        const [row] = await tx<{ gone: number }[]>`
          select carillon.forget_audit(${rows.map(({ at }) => at)}::timestamptz[], ${rows.map(({ id }) => id)}::bigint[],
            carillon.clock() - ${days} * interval '1 day') as gone`;
        return row?.gone ?? 0;
      },
    },
    timeIsUp,
  );
}
