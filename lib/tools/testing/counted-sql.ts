import { type ConnectOptions, connect, type Sql } from "../../db/connect.ts";
import type { Line } from "../../db/line.ts";
import type { Activity } from "./activity.ts";

/** Connections whose statements count as under way until the server has answered them. */
export function countedSql(url: string, activity: Activity, options: ConnectOptions): Sql {
  const through = (line: Line): Line => ({
    ...line,
    run: (statement) => {
      const end = activity.begin();
      statement.then(end, end);
      line.run(statement);
    },
  });
  return connect({ DATABASE_URL: url }, { ...options, through });
}
