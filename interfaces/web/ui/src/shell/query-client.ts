import { QueryClient } from "@tanstack/react-query";

import { Refused } from "../api/client";

const ATTEMPTS = 4;

/** The stream says when something changed; reading again because a window got the focus would only be noise. */
export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      refetchOnWindowFocus: false,
      staleTime: 30_000,
      // A refusal stays one; what could not be reached, or is overloaded, may come back.
      retry: (failures, error) => failures < ATTEMPTS && !(error instanceof Refused && error.status < 500),
      retryDelay: (attempt) => Math.min(500 * 2 ** attempt, 8_000),
      networkMode: "always",
    },
    mutations: { networkMode: "always" },
  },
});
