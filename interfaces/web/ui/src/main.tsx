import "@mantine/core/styles.css";
import "@mantine/notifications/styles.css";
import "./shell/base.css";

import { MantineProvider } from "@mantine/core";
import { Notifications } from "@mantine/notifications";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";

import { isEmbedded } from "./embed/embedded";
import { EmbedShell } from "./embed/EmbedShell";
import { queryClient } from "./shell/query-client";
import { Shell } from "./shell/Shell";
import { readable, theme } from "./shell/theme";

const nonce = document.querySelector<HTMLMetaElement>("meta[name=csp-nonce]")?.content ?? "";
Object.assign(globalThis, { __webpack_nonce__: nonce }); // open dialogs lock the page's scrolling: its style asks by this name

createRoot(document.getElementById("root")!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={readable}
      defaultColorScheme="auto"
      getStyleNonce={() => nonce}
    >
      <QueryClientProvider client={queryClient}>
        <Notifications position="bottom-right" limit={4} />
        {isEmbedded ? <EmbedShell /> : <Shell />}
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
);
