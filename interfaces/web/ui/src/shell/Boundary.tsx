import { Button, Center, Stack, Text } from "@mantine/core";
import { Component, type ReactNode } from "react";

import { strings } from "../strings";

/** A fault of one page stays on that page. */
export class Boundary extends Component<{ children: ReactNode }, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (!this.state.failed) return this.props.children;
    return (
      <Center p="xl" role="alert">
        <Stack align="center" gap="sm">
          <Text>{strings.shell.crashed}</Text>
          <Button variant="default" onClick={() => location.reload()}>
            {strings.shell.reload}
          </Button>
        </Stack>
      </Center>
    );
  }
}
