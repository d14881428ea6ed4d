import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { agendaSchedulesQuery } from "../../data/agenda-queries.ts";
import { amountText } from "../../data/amounts.ts";
import { useSession } from "../../hooks/session-context.ts";
import { Instant } from "../../parts/time/instant.tsx";

const minuteMs = 60_000;

interface HeldLineProps {
  /** The minute whose number is read above. */
  at: string;
  prefix: string | undefined;
}

/** The runs that the number of a minute leaves out, since they are held. */
export function HeldLine({ at, prefix }: HeldLineProps) {
  const { carillon } = useSession();
  const begin = Date.parse(at);
  const window = {
    from: new Date(begin).toISOString(),
    to: new Date(begin + minuteMs).toISOString(),
    prefix,
    outcome: "held" as const,
  };
  const { data } = useQuery(agendaSchedulesQuery(carillon, window));
  if (data === undefined || data.occurrences === 0) return null;
  const isOne = data.occurrences === 1 && !data.more;
  return (
    <p className="quiet">
      {data.more ? "At least " : ""}
      {amountText({ count: data.occurrences, more: false }, "held run")} of <Instant at={at} />{" "}
      {isOne ? "is" : "are"} not counted;{" "}
      <Link to="/agenda" search={window} className="link">
        the agenda lists {isOne ? "it" : "them"}
      </Link>
      .
    </p>
  );
}
