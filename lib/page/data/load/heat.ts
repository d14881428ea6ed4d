/** One colour of a heat map, and the counts that it stands for. */
export interface HeatColour {
  /** From 1, the lightest, to 5, the darkest. */
  level: number;
  from: number;
  to: number;
}

const levels = 5;
/** Counts whose peak is less than a tenth above the least look alike: no cell of them is dark. */
const alike = { ratio: 1.1, levels: 3 };
/** The least factor between the means of two neighbouring colours. Less is no difference to a reader. */
const apart = 1.05;

/**
 * The colours of some counts, from light to dark. The counts fall into classes in which they differ
 * least by factor. So a few heavy minutes stand out, and small differences among all others are seen
 * too. With even steps or even factors, most cells of a map have the same colour. Counts that are
 * about the same have one colour.
 */
export function heatColours(counts: readonly number[]): HeatColour[] {
  const amounts = new Map<number, number>();
  for (const count of counts) if (count > 0) amounts.set(count, (amounts.get(count) ?? 0) + 1);
  const busy = [...amounts.keys()].toSorted((one, other) => one - other);
  const peak = busy.at(-1) ?? 0;
  const darkest = counts.every((count) => count * alike.ratio > peak) ? alike.levels : levels;
  const ends = classEnds(busy.map((count) => ({ value: Math.log(count), weight: amounts.get(count) ?? 1 })));
  const lighter = Math.max(1, ends.length - 1);
  return ends.map((end, place) => ({
    level: darkest - Math.round(((ends.length - 1 - place) * (darkest - 1)) / lighter),
    from: busy[ends[place - 1] ?? 0] ?? 0,
    to: busy[end - 1] ?? 0,
  }));
}

/** The colour of a number: 0 for none. What is above all colours has the darkest. */
export function heatLevel(count: number, colours: readonly HeatColour[]): number {
  if (count === 0) return 0;
  return colours.find(({ to }) => count <= to)?.level ?? colours.at(-1)?.level ?? levels;
}

interface Weighed {
  value: number;
  weight: number;
}

type Within = (from: number, to: number) => number;

/**
 * Where each class of sorted values ends, so that the squared distances within the classes are least.
 * There are as many classes as have means apart from each other.
 */
function classEnds(sorted: readonly Weighed[]): number[] {
  const within = squaresWithin(sorted);
  const most = Math.min(levels, sorted.length);
  let sums = sorted.map((_, last) => within(0, last + 1));
  let ends = sorted.length === 0 ? [] : [sorted.length];
  const begins: number[][] = [];
  for (let classes = 2; classes <= most; classes++) {
    const chosen = lastClasses(sums, within, classes - 1);
    sums = chosen.map(({ sum }) => sum);
    begins.push(chosen.map(({ begin }) => begin));
    const divided = [sorted.length];
    for (const begin of begins.toReversed()) divided.unshift(begin[(divided[0] ?? 1) - 1] ?? 0);
    if (areApart(sorted, divided)) ends = divided;
  }
  return ends;
}

function areApart(sorted: readonly Weighed[], ends: readonly number[]): boolean {
  const means = ends.map((end, place) => meanOf(sorted.slice(ends[place - 1] ?? 0, end)));
  return means.every(
    (mean, place) => mean - (means[place - 1] ?? Number.NEGATIVE_INFINITY) >= Math.log(apart),
  );
}

function meanOf(values: readonly Weighed[]): number {
  const weight = values.reduce((sum, each) => sum + each.weight, 0);
  return values.reduce((sum, each) => sum + each.value * each.weight, 0) / weight;
}

/**
 * The best begin of one more class, for each value that may be its last. A later last value never has
 * an earlier begin, so the halves on both sides of a value search on its own side only: a day of
 * different counts takes 3 ms, and 50 ms if each last value tries all begins.
 */
function lastClasses(before: readonly number[], within: Within, first: number) {
  const chosen = before.map((_, last) => ({ sum: Number.POSITIVE_INFINITY, begin: last }));
  const choose = (low: number, high: number, from: number, to: number): void => {
    if (low > high) return;
    const last = Math.floor((low + high) / 2);
    let best = { sum: Number.POSITIVE_INFINITY, begin: from };
    for (let begin = from; begin <= Math.min(last, to); begin++) {
      const sum = (before[begin - 1] ?? 0) + within(begin, last + 1);
      if (sum < best.sum) best = { sum, begin };
    }
    chosen[last] = best;
    choose(low, last - 1, from, best.begin);
    choose(last + 1, high, best.begin, to);
  };
  choose(first, before.length - 1, first, before.length - 1);
  return chosen;
}

/** The squared distances from their mean of the values from one place to before another. */
function squaresWithin(sorted: readonly Weighed[]): Within {
  const sums = [{ weight: 0, first: 0, second: 0 }];
  for (const { value, weight } of sorted) {
    const before = sums.at(-1) ?? { weight: 0, first: 0, second: 0 };
    sums.push({
      weight: before.weight + weight,
      first: before.first + weight * value,
      second: before.second + weight * value * value,
    });
  }
  return (from, to) => {
    const [low, high] = [sums[from], sums[to]];
    if (low === undefined || high === undefined) return 0;
    return high.second - low.second - (high.first - low.first) ** 2 / (high.weight - low.weight);
  };
}
