import { writeFileSync } from "node:fs";
import { settingsPage } from "./settings-page.ts";

/** `npm run settings`: writes docs/settings.md from the code; a test compares the two. */
writeFileSync(new URL("../../docs/settings.md", import.meta.url), settingsPage());
