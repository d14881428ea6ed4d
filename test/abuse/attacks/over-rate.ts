import { type Attack, ownPrefix } from "../attack.ts";

const timesTheRate = 10;
const stepMs = 20;

export const overRate: Attack = {
  name: "rate",
  does: `sends ${timesTheRate} times the rate of its token`,
  holds: "no more is admitted than the rate allows; each refusal has Retry-After",
  async run({ caller, answers, tokens, clock }, { seconds, rate }) {
    const startedAt = clock.now().getTime();
    const perStep = (timesTheRate * rate * stepMs) / 1_000;
    const sent: Promise<unknown>[] = [];
    let admitted = 0;
    for (let step = 0; step < (seconds * 1_000) / stepMs; step++) {
      for (let index = 0; index < perStep; index++) {
        const answer = caller.send({
          method: "GET",
          path: `/v1/schedules/${ownPrefix}rate-${step}`,
          token: tokens.rated,
        });
        sent.push(
          answer.then((got) => {
            if (got !== undefined && got.status !== 429) admitted++;
          }),
        );
      }
      await clock.sleep(Math.max(0, startedAt + (step + 1) * stepMs - clock.now().getTime()));
    }
    await Promise.all(sent);
    const lasted = (clock.now().getTime() - startedAt) / 1_000;
    // A full bucket at first, then the rate.
    const most = Math.ceil(rate * (1 + lasted));
    if (admitted > most)
      answers.fault(`${admitted} requests were admitted in ${lasted} s; the rate allows ${most}`);
  },
};
