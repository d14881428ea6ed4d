import { pageNameElement } from "../../config/page-name.ts";
import { settingIn } from "../data/setting-in.ts";

/** The name of the installation, by the document; null if it has none. */
export const installationName = (): string | null => settingIn(pageNameElement);

/** Two installations look alike; this tells which one a reader is about to change. */
export function InstallationName() {
  const name = installationName();
  return name === null ? null : (
    <span className="installation" title={name}>
      {name}
    </span>
  );
}
