import { Button, Center, Stack, Text } from "@mantine/core";
import { Component, type ReactNode } from "react";

import { strings } from "../strings";

interface Props {
  children: ReactNode;
  /** Which page this is; another one is tried afresh. */
  page?: string | undefined;
}

/** A fault of one page stays on that page. */
export class Boundary extends Component<Props, { failed: boolean }> {
  override state = { failed: false };

  static getDerivedStateFromError() {
    return { failed: true };
  }

  override componentDidUpdate(before: Props) {
    if (this.state.failed && before.page !== this.props.page) this.setState({ failed: false });
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
