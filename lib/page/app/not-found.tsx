import { Link } from "@tanstack/react-router";

export function NotFound() {
  return (
    <div className="blank">
      <h1>There is no such view</h1>
      <p className="quiet">The address is mistyped, or comes from another release of Carillon.</p>
      <Link to="/" className="button">
        Go to Now
      </Link>
    </div>
  );
}
