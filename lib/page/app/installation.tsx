import { pageNameElement } from "../../config/page-name.ts";

/** The name of the installation, by the document; null if it has none. */
export function installationName(): string | null {
  return document.querySelector<HTMLMetaElement>(`meta[name="${pageNameElement}"]`)?.content ?? null;
}

/** Two installations look alike; this tells which one a reader is about to change. */
export function InstallationName() {
  const name = installationName();
  return name === null ? null : (
    <span className="installation" title={name}>
      {name}
    </span>
  );
}
