import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

// The service worker must keep its name and stand at the root: its scope is the folder that it is served from.
const SERVICE_WORKER = "service-worker";

export default defineConfig({
  plugins: [react()],
  build: {
    outDir: "../built",
    emptyOutDir: true,
    assetsInlineLimit: 0, // the content security policy knows no data: scripts or styles
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { main: "index.html", [SERVICE_WORKER]: "src/notifications/service-worker.ts" },
      output: {
        entryFileNames: (chunk) => (chunk.name === SERVICE_WORKER ? "[name].js" : "assets/[name]-[hash].js"),
      },
    },
  },
  worker: { format: "es" },
  server: { proxy: { "/api": "http://127.0.0.1:8000", "/sign-in": "http://127.0.0.1:8000" } },
});
