import { Menu, useMantineColorScheme } from "@mantine/core";
import { CheckIcon, DeviceDesktopIcon, MoonIcon, SunIcon } from "@primer/octicons-react";

import { strings } from "../strings";

const CHOICES = [
  { scheme: "auto", label: strings.shell.automatic, icon: <DeviceDesktopIcon /> },
  { scheme: "light", label: strings.shell.light, icon: <SunIcon /> },
  { scheme: "dark", label: strings.shell.dark, icon: <MoonIcon /> },
] as const;

export function Appearance() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <>
      <Menu.Label>{strings.shell.appearance}</Menu.Label>
      {CHOICES.map(({ scheme, label, icon }) => (
        <Menu.Item
          key={scheme}
          leftSection={icon}
          rightSection={colorScheme === scheme ? <CheckIcon /> : undefined}
          aria-current={colorScheme === scheme}
          onClick={() => setColorScheme(scheme)}
        >
          {label}
        </Menu.Item>
      ))}
    </>
  );
}
