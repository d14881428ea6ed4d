import { useQuery } from "@tanstack/react-query";
import { isWider, widerText } from "../../data/release-right.ts";
import { ownTokenQuery, useMay } from "../../data/token-query.ts";
import { useSession } from "../../hooks/session-context.ts";

/** Says which kind of token releases a hold, where this one could if it reached more keys. */
export function WiderHold({ reach, lead = "" }: { reach: string | null | undefined; lead?: string }) {
  const { carillon } = useSession();
  const { data: own } = useQuery(ownTokenQuery(carillon));
  const mayRelease = useMay("resumeSchedule");
  if (!mayRelease || !isWider(reach, own?.prefix)) return null;
  return (
    <span className="quiet">
      {lead}
      {widerText(reach)}
    </span>
  );
}
