import { Link, Navigate } from "@tanstack/react-router";

/**
 * No schedule has this key. `/schedules/new` is the address of a schedule named `new`; while there is
 * none, it leads to the editor of a new schedule.
 */
export function Missing({ name }: { name: string }) {
  if (name === "new") return <Navigate to="/new" replace />;
  return (
    <p className="notice">
      No schedule has this key, and none had it.{" "}
      <Link to="/new" search={{ key: name }} className="link">
        Make one with this key
      </Link>
    </p>
  );
}
