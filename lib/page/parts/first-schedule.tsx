import { Link } from "@tanstack/react-router";
import { useMay } from "../data/token-query.ts";
import { CopyButton } from "./copy-button.tsx";

/** The first steps, shown where there is no schedule yet. */
export function FirstSchedule() {
  const mayMake = useMay("createSchedule");
  return (
    <div className="first">
      <p>
        There is no schedule yet. A schedule is a key, a time and a target.
        {mayMake ? (
          <>
            {" "}
            <Link to="/new" className="link">
              Make one here
            </Link>
            , or run this, which makes one for each minute:
          </>
        ) : (
          " This makes one for each minute:"
        )}
      </p>
      <CopyButton text='carillon put hello --when "every 1m" --event default' />
    </div>
  );
}
