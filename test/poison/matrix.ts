import type { Matrix } from "./cell.ts";
import { dayCells, rowCells } from "./cells-kept.ts";
import { parcelCells } from "./cells-parcels.ts";
import { houseCells, planCells } from "./cells-plan.ts";
import { wayInCells } from "./cells-ways-in.ts";
import { type RowPoisonName, rowPoisons } from "./row-poisons.ts";
import { type ScenarioName, scenarios } from "./row-scenarios.ts";

/** Consumers × poisons: each cell names a test, or says why the poison has no effect there. */
export const matrix: Matrix = {
  ...planCells,
  ...houseCells,
  ...rowCells,
  ...dayCells,
  ...parcelCells,
  ...wayInCells,
};

const isScenario = (row: string): row is ScenarioName => row in scenarios;
const isRowPoison = (name: string): name is RowPoisonName => name in rowPoisons;

export const cells = Object.entries(matrix).flatMap(([row, ofRow]) =>
  Object.entries(ofRow).map(([poison, cell]) => ({ row, poison, cell })),
);

/** The cells that rows.test.ts shows. */
export const rowCases = cells.flatMap(({ row, poison, cell }) =>
  "row" in cell && isScenario(row) && isRowPoison(poison) ? [[row, poison, cell.row] as const] : [],
);
