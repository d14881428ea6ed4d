import { writeFileSync } from "node:fs";
import { settingsPage } from "./settings-page.ts";

/** `npm run settings`: writes docs/settings.md anew, for a reader and for the test that compares it with the code. */
writeFileSync(new URL("../../docs/settings.md", import.meta.url), settingsPage());
