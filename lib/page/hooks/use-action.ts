import { type UseMutationOptions, type UseMutationResult, useMutation } from "@tanstack/react-query";
import { useRef } from "react";

/**
 * A mutation that does not begin again while it runs. A disabled button does not suffice: the second
 * click of a double click comes before the button is rendered again.
 */
export function useAction<Data, Variables = void>(
  options: UseMutationOptions<Data, Error, Variables>,
): Omit<UseMutationResult<Data, Error, Variables>, "mutate" | "mutateAsync"> & {
  act(variables: Variables): void;
} {
  const isRunning = useRef(false);
  const {
    mutate,
    mutateAsync: _,
    ...mutation
  } = useMutation<Data, Error, Variables>({
    ...options,
    onSettled: (...settled) => {
      isRunning.current = false;
      return options.onSettled?.(...settled);
    },
  });
  return {
    ...mutation,
    act: (variables) => {
      if (isRunning.current) return;
      isRunning.current = true;
      mutate(variables);
    },
  };
}
