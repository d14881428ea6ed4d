import { carillon } from "./published/carillon.ts";
import { carillonCdk } from "./published/carillon-cdk.ts";
import { carillonDev } from "./published/carillon-dev.ts";
import { createCarillon } from "./published/create-carillon.ts";
import type { PublishedPackage } from "./published-package.ts";

/** Every package that is published. */
export const packages: readonly PublishedPackage[] = [carillon, carillonCdk, carillonDev, createCarillon];
