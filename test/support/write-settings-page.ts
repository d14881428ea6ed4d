import { writeFileSync } from "node:fs";
import { constructPage } from "./construct-page.ts";
import { settingAreas } from "./setting-areas.ts";
import { optionsOf } from "./settings-options.ts";
import { settingsPage } from "./settings-page.ts";

/**
 * `npm run settings`: writes docs/settings.md, docs/construct.md and infra/settings/options/ from
 * the code; tests compare them.
 */
const root = new URL("../../", import.meta.url);
writeFileSync(new URL("docs/settings.md", root), settingsPage());
writeFileSync(new URL("docs/construct.md", root), constructPage());
for (const area of settingAreas)
  writeFileSync(new URL(`infra/settings/options/${area}.ts`, root), optionsOf(area));
