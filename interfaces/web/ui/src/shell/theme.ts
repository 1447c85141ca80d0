import { type CSSVariablesResolver, createTheme } from "@mantine/core";

export const theme = createTheme({
  primaryColor: "indigo",
  primaryShade: 7,
  autoContrast: true,
  defaultRadius: "md",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, 'Noto Sans Mono', monospace",
  headings: { fontWeight: "600" },
  cursorType: "pointer",
});

/** Quieter text must still be readable: at least 4.5:1 on every background of ours. */
export const readable: CSSVariablesResolver = () => ({
  variables: {},
  light: { "--mantine-color-dimmed": "#5a6169", "--mantine-color-placeholder": "#6a7178", "--mantine-color-error": "#c92a2a" },
  dark: {
    "--mantine-color-dimmed": "#a9aeb5",
    "--mantine-color-placeholder": "#9a9fa6",
    "--mantine-color-error": "#ff8787",
    "--mantine-color-body": "#1b1c1f",
  },
});
