/** One factor of a price: an amount and its unit. */
export type Factor = readonly [amount: number, of: string];

/** One line of a bill: the product of its factors; the last factor is the price. */
export interface Line {
  readonly what: string;
  readonly formula: string;
  readonly usd: number;
}

export function line(what: string, ...factors: readonly Factor[]): Line {
  return {
    what,
    formula: factors.map(([amount, of]) => `${plain(amount)} ${of}`.trim()).join(" × "),
    usd: factors.reduce((product, [amount]) => product * amount, 1),
  };
}

export function total(lines: readonly Line[]): number {
  return lines.reduce((sum, { usd }) => sum + usd, 0);
}

function plain(amount: number): string {
  return amount.toLocaleString("en-US", { maximumSignificantDigits: 6 });
}
