export function Bell() {
  return (
    <svg className="bell" viewBox="0 0 18 18" width="18" height="18" aria-hidden="true">
      <path d="M3.5 13.2h11C13.2 11.6 13 9.8 13 8a4 4 0 0 0-8 0c0 1.8-.2 3.6-1.5 5.2Z" />
      <path d="M7.5 15.5a1.6 1.6 0 0 0 3 0M9 2v2" />
    </svg>
  );
}
