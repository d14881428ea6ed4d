import { type Attack, type Ground, ownPrefix } from "../attack.ts";
import { inParallel } from "../caller.ts";
import { deleteOwn } from "../delete-own.ts";

const atOnce = 8;
const loops = 3;
const pagesMax = 200;
const held = `${ownPrefix}held`;

async function makeHeld({ caller, tokens }: Ground, holds: number): Promise<void> {
  const operations = Array.from({ length: Math.min(holds, 1_000) }, (_, index) => ({
    put: {
      key: `${held}-${index}`,
      when: "every 1m",
      target: { handler: "greet" },
      group: `${held}-${index % 100}`,
      tags: [`${held}-${index % 50}`, held],
    },
  }));
  await caller.json("POST", "/v1/schedules:batch", { token: tokens.write, body: { operations } });
}

export const holdBombs: Attack = {
  name: "holds",
  does: "sets holds on groups, tags and schedules of its prefix, with long reasons and many owners, and releases them in a loop",
  holds: "a limit of holds refuses with 409 or 422",
  async run(ground, { holds }) {
    const { caller, tokens, dice } = ground;
    await makeHeld(ground, holds);
    for (let loop = 0; loop < loops; loop++) {
      await inParallel(holds, atOnce, async (index) => {
        const place = dice.pick(["groups", "tags", "schedules"]);
        const owner = `owner-${dice.between(0, 200)}`;
        const path = `/v1/${place}/${held}-${index}`;
        const reason = "r".repeat(dice.pick([1, 500, 500, 5_000]));
        await caller.json("POST", `${path}/pause`, { token: tokens.admin, body: { reason, owner } });
        if (dice.chance(0.5))
          await caller.json("POST", `${path}/resume`, { token: tokens.admin, body: { owner } });
      });
      await caller.json("GET", "/v1/holds?limit=100", { token: tokens.write });
      await releaseAll(ground);
    }
    await deleteOwn(ground);
  },
};

interface HoldPage {
  items: { scope: string; name: string; owner: string; state: string }[];
}

async function releaseAll({ caller, tokens }: Ground): Promise<void> {
  for (let page = 0; page < pagesMax; page++) {
    const listed = (await caller.json("GET", "/v1/holds?limit=100", { token: tokens.write })) as
      | HoldPage
      | undefined;
    // Ending ones are taken off their members already.
    const items = (listed?.items ?? []).filter(({ state }) => state === "binding");
    if (items.length === 0) return;
    await inParallel(items.length, atOnce, async (index) => {
      const hold = items[index];
      if (hold === undefined) return;
      const path = `/v1/${hold.scope}s/${encodeURIComponent(hold.name)}/resume`;
      await caller.json("POST", path, { token: tokens.admin, body: { owner: hold.owner } });
    });
  }
}
