import { AppShell, Burger, Group, Menu, NavLink, Text, UnstyledButton, VisuallyHidden } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import {
  GearIcon,
  GraphIcon,
  HistoryIcon,
  InboxIcon,
  QuestionIcon,
  PersonIcon,
  SignOutIcon,
  WorkflowIcon,
} from "@primer/octicons-react";
import { Suspense, useEffect } from "react";
import { Link, useLocation } from "wouter";

import { signOut, useSignedIn } from "../api/session";
import { complain } from "../lib/notify";
import { Loading } from "../lib/State";
import { useShortcuts } from "../lib/shortcuts";
import { useBrowserNotifications } from "../notifications/useBrowserNotifications";
import { strings } from "../strings";
import { Appearance } from "./Appearance";
import { Boundary } from "./Boundary";
import { ConnectionBar } from "./ConnectionBar";
import classes from "./Frame.module.css";
import { KeyboardHelp } from "./KeyboardHelp";
import { listBehind } from "./last-list";
import { Pages } from "./Pages";
import { PendingBadge, usePending } from "./pending";

export function Frame() {
  const [menuOpen, menu] = useDisclosure(false);
  const [helpOpen, help] = useDisclosure(false);
  const [path] = useLocation();
  const { me, administers, seesEverything } = useSignedIn();
  usePending();
  useBrowserNotifications();
  useShortcuts({ "?": help.open });
  useEffect(menu.close, [path]); // eslint-disable-line react-hooks/exhaustive-deps

  const places = [
    { to: "/inbox", label: strings.shell.inbox, icon: <InboxIcon />, shown: true, badge: <PendingBadge /> },
    { to: "/dashboard", label: strings.shell.dashboard, icon: <GraphIcon />, shown: true },
    { to: "/audit", label: strings.shell.audit, icon: <HistoryIcon />, shown: seesEverything },
    { to: "/routing", label: strings.shell.routing, icon: <WorkflowIcon />, shown: seesEverything },
    { to: "/settings", label: strings.shell.settings, icon: <GearIcon />, shown: administers },
  ];

  return (
    <AppShell
      header={{ height: 48 }}
      navbar={{ width: 200, breakpoint: "sm", collapsed: { mobile: !menuOpen } }}
      padding={0}
    >
      <a href="#content" className={classes.skip}>
        {strings.shell.skip}
      </a>
      <AppShell.Header>
        <Group h="100%" px="md" justify="space-between" wrap="nowrap">
          <Group gap="xs" wrap="nowrap">
            <Burger opened={menuOpen} onClick={menu.toggle} hiddenFrom="sm" size="sm" aria-label={strings.shell.menu} />
            <Link href="/inbox" className={classes.product}>
              <img src="/icon.svg" alt="" width={22} height={22} />
              <Text fw={650}>{strings.product}</Text>
            </Link>
          </Group>
          <Menu position="bottom-end" width={220}>
            <Menu.Target>
              <UnstyledButton className={classes.me}>
                <PersonIcon />
                <Text size="sm" visibleFrom="xs">
                  {me.name ?? me.id}
                </Text>
                <VisuallyHidden>{strings.shell.menu}</VisuallyHidden>
              </UnstyledButton>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item component={Link} href="/profile" leftSection={<PersonIcon />}>
                {strings.shell.profile}
              </Menu.Item>
              <Menu.Item onClick={help.open} leftSection={<QuestionIcon />}>
                {strings.shell.help}
              </Menu.Item>
              <Menu.Divider />
              <Appearance />
              <Menu.Divider />
              <Menu.Item onClick={() => void signOut().catch(complain)} leftSection={<SignOutIcon />}>
                {strings.shell.signOut}
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      </AppShell.Header>
      <AppShell.Navbar p="xs" aria-label={strings.shell.menu}>
        {places
          .filter(({ shown }) => shown)
          .map(({ to, label, icon, badge }) => {
            const shown = listBehind(path);
            const active = shown === to || shown.startsWith(`${to}/`) || (to === "/inbox" && shown === "/");
            return (
              <NavLink
                key={to}
                component={Link}
                href={to}
                label={label}
                leftSection={icon}
                rightSection={badge}
                active={active}
                aria-current={active ? "page" : undefined}
                className={classes.place}
              />
            );
          })}
      </AppShell.Navbar>
      <AppShell.Main id="content" className={classes.main}>
        <ConnectionBar />
        <Boundary page={path}>
          <Suspense fallback={<Loading />}>
            <Pages />
          </Suspense>
        </Boundary>
      </AppShell.Main>
      <KeyboardHelp opened={helpOpen} onClose={help.close} />
    </AppShell>
  );
}
