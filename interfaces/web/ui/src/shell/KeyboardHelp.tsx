import { Kbd, Modal, Switch, Table } from "@mantine/core";
import { useState } from "react";

import { areKeysOn, switchKeys } from "../lib/shortcuts";
import { strings } from "../strings";

const KEYS: [string[], string][] = [
  [["j"], strings.keys.down],
  [["k"], strings.keys.up],
  [["Enter"], strings.keys.open],
  [["Esc"], strings.keys.close],
  [["a"], strings.keys.approve],
  [["r"], strings.keys.reject],
  [["c"], strings.keys.claim],
  [["Ctrl/⌘", "Enter"], strings.keys.submit],
  [["?"], strings.keys.help],
];

export function KeyboardHelp({ opened, onClose }: { opened: boolean; onClose: () => void }) {
  const [on, setOn] = useState(areKeysOn);
  const turn = (next: boolean) => {
    switchKeys(next);
    setOn(next);
  };
  return (
    <Modal opened={opened} onClose={onClose} title={strings.keys.title} size="sm">
      <Table>
        <Table.Tbody>
          {KEYS.map(([keys, what]) => (
            <Table.Tr key={what}>
              <Table.Td w={130}>
                {keys.map((key, index) => (
                  <span key={key}>
                    {index > 0 && " + "}
                    <Kbd>{key}</Kbd>
                  </span>
                ))}
              </Table.Td>
              <Table.Td>{what}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Switch
        mt="md"
        label={strings.keys.single}
        checked={on}
        onChange={(event) => turn(event.currentTarget.checked)}
      />
    </Modal>
  );
}
