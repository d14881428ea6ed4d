import { useNavigate } from "@tanstack/react-router";
import { readerZone } from "../data/time/zone.ts";

/** Shows all times in another zone. The reader's own is the default, which the address does not name. */
export function useChooseZone(): (zone: string) => void {
  const navigate = useNavigate();
  return (zone) =>
    void navigate({
      to: ".",
      search: (search: Record<string, unknown>) => ({
        ...search,
        zone: zone === readerZone() ? undefined : zone,
      }),
      replace: true,
    });
}
