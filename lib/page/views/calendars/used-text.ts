import { amountText } from "../../data/amounts.ts";

/** How many schedules use a calendar: `1 schedule uses it`, `10,000+ schedules use it`. */
export function usedText({ schedules: count, more }: { schedules: number; more: boolean }): string {
  return amountText({ count, more }, "schedule uses it", "schedules use it");
}
