import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ownTokenQuery } from "../data/token-query.ts";
import { useSession } from "../hooks/session-context.ts";

/** Says why buttons or schedules are absent: the token may only read, or sees the keys of a prefix only. */
export function TokenNote() {
  const { carillon } = useSession();
  const { data } = useQuery(ownTokenQuery(carillon));
  if (data === undefined) return null;
  const { scope, prefix } = data;
  const limits = [scope === "read" ? "read only" : null, prefix === null ? null : `${prefix}…`];
  const text = limits.filter((limit) => limit !== null).join(", ");
  if (text === "") return null;
  return (
    <Link to="/tokens" className="token-note" title="Your token, and what it may do">
      {text}
    </Link>
  );
}
