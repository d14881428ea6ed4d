import type { Tx } from "../db/connect.ts";

/** Open parcels that an answer reads. */
export const parcelsMax = 100_000;
/** Up to this many schedules are found among the jobs of parcels by their ids, without a look at each job's schedule. */
export const ownersMax = 20_000;
/** Jobs of parcels whose ids are compared: ten times as many as schedules may be looked up in the same time. */
export const comparedMax = 500_000;

/** SQL: the id is one of these. The planner compares by a hash, whatever it expects of the tables. */
export const isOneOf = (tx: Tx, id: ReturnType<Tx>, ids: readonly string[]) =>
  tx`(${id} in (select o.id from unnest(${[...ids]}::bigint[]) o (id))) is true`;

/** SQL: the parcel may have jobs of these teams. One with jobs of a single other team has none. */
export const mayBeOf = (tx: Tx, teams: readonly { id: number }[] | null) =>
  teams === null ? tx`true` : tx`(p.team_id is null or p.team_id = any(${teams.map(({ id }) => id)}::int[]))`;
