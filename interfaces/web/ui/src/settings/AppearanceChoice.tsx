import { SegmentedControl, useMantineColorScheme, type MantineColorScheme } from "@mantine/core";

import { strings } from "../strings";

export function AppearanceChoice() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SegmentedControl
      aria-label={strings.shell.appearance}
      value={colorScheme}
      onChange={(scheme) => setColorScheme(scheme as MantineColorScheme)}
      data={[
        { value: "auto", label: strings.shell.automatic },
        { value: "light", label: strings.shell.light },
        { value: "dark", label: strings.shell.dark },
      ]}
    />
  );
}
