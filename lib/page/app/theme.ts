const storageKey = "carillon.theme";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function keptTheme(): Theme {
  const kept = localStorage.getItem(storageKey);
  return themes.find((each) => each === kept) ?? "system";
}

export function keepTheme(theme: Theme): void {
  localStorage.setItem(storageKey, theme);
  showTheme(theme);
}

/** The style sheet follows the system unless the document names a theme. */
export function showTheme(theme: Theme): void {
  if (theme === "system") document.documentElement.removeAttribute("data-theme");
  else document.documentElement.dataset["theme"] = theme;
}
