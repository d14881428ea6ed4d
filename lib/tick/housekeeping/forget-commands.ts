import type { Sql, Tx } from "../../db/connect.ts";
import { rememberedDays } from "../../ingest/understand.ts";
import type { Log } from "../../log/log.ts";
import { forgetOld, type OldRows, oldRowName } from "../../quarantine/forget-old.ts";
import { isAside, waitsAside } from "../../quarantine/quarantine.ts";
import type { Tried } from "../../quarantine/try-rows.ts";

/**
 * Deletes marks that are older than any command can be, and dead commands after their retention.
 */
export async function forgetCommands(
  deps: { sql: Sql; log: Log },
  retentionDays: number,
  timeIsUp: () => boolean,
): Promise<void> {
  await forgetOld(deps, oldMarks, timeIsUp);
  await forgetOld(deps, oldDead(retentionDays), timeIsUp);
}

const most = 5_000;

/** Marks that another transaction has locked are in use, and are skipped. */
const oldMarks: OldRows<Tried & { key: string }> = {
  most,
  list: (sql, most) => {
    const item = oldRowName(sql, "command_marks", sql`m.key`);
    return sql`
      select ${item} as item, ${isAside(sql, "forget", item)} as aside, m.key from carillon.command_marks m
      where ${isUnseen(sql)} and not ${waitsAside(sql, "forget", item)} order by m.seen_on limit ${most}`;
  },
  drop: async (tx, rows) => {
    const { count } = await tx`
      delete from carillon.command_marks where key in (
        select m.key from carillon.command_marks m
        where m.key = any(${rows.map(({ key }) => key)}::text[]) and ${isUnseen(tx)} for update skip locked)`;
    return count;
  },
};

const isUnseen = (tx: Tx) => tx`
  m.seen_on < ((select carillon.clock()) at time zone 'UTC')::date - ${rememberedDays}::int`;

function oldDead(retentionDays: number): OldRows<Tried & { id: string }> {
  const isPast = (tx: Tx) =>
    tx`d.refused_at < (select carillon.clock()) - ${retentionDays} * interval '1 day'`;
  return {
    most,
    list: (sql, most) => {
      const item = oldRowName(sql, "dead_commands", sql`d.id`);
      return sql`
        select ${item} as item, ${isAside(sql, "forget", item)} as aside, d.id from carillon.dead_commands d
        where ${isPast(sql)} and not ${waitsAside(sql, "forget", item)} order by d.refused_at limit ${most}`;
    },
    drop: async (tx, rows) => {
      const { count } = await tx`
        delete from carillon.dead_commands d where d.id = any(${rows.map(({ id }) => id)}::bigint[]) and ${isPast(tx)}`;
      return count;
    },
  };
}
