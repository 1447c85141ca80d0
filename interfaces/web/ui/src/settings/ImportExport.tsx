// The whole directory as one file, to be kept and to be taken in again.

import { Alert, Button, FileButton, Group, Stack, Text, Title } from "@mantine/core";
import { DownloadIcon, UploadIcon } from "@primer/octicons-react";
import { useRef, useState } from "react";

import { answer, api } from "../api/client";
import { complain } from "../lib/notify";
import { strings } from "../strings";
import { differences, sizeOf, type Difference, type Document } from "./directory-document";
import { useWritten } from "./entries";
import { Refusal } from "./Refusal";

const text = strings.settings.document;

export function ImportExport() {
  return (
    <Stack gap="lg">
      <div>
        <Title order={1} size="h3">
          {text.title}
        </Title>
        <Text size="sm" c="dimmed">
          {text.help}
        </Text>
      </div>
      <Export />
      <Import />
    </Stack>
  );
}

const read = (min_position?: number) =>
  answer(api.GET("/api/directory", { params: { query: { min_position } } })) as Promise<Document>;

function Export() {
  const download = async () => {
    try {
      const json = JSON.stringify(await read(), null, 2);
      const url = URL.createObjectURL(new Blob([`${json}\n`], { type: "application/json" }));
      const link = document.createElement("a");
      link.href = url;
      link.download = "directory.json";
      link.click();
      URL.revokeObjectURL(url);
    } catch (error) {
      complain(error);
    }
  };
  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {text.exportTitle}
      </Title>
      <Text size="sm">{text.exportHelp}</Text>
      <Group>
        <Button variant="default" leftSection={<DownloadIcon />} onClick={() => void download()}>
          {text.download}
        </Button>
      </Group>
    </Stack>
  );
}

function Import() {
  const written = useWritten();
  const [file, setFile] = useState<{ name: string; document: Document } | null>(null);
  const [unreadable, setUnreadable] = useState<string | null>(null);
  const [error, setError] = useState<unknown>(null);
  const [done, setDone] = useState<Difference[] | null>(null);
  const [busy, setBusy] = useState(false);
  const forget = useRef<() => void>(null);

  const choose = async (chosen: File | null) => {
    if (chosen === null) return;
    forget.current?.(); // the same file can be chosen again, mended
    setFile(null);
    setUnreadable(null);
    setError(null);
    setDone(null);
    try {
      const document: unknown = JSON.parse(await chosen.text());
      setFile({ name: chosen.name, document: document as Document });
    } catch {
      setUnreadable(text.noJson(chosen.name));
    }
  };

  const take = async (document: Document) => {
    setBusy(true);
    setError(null);
    try {
      const before = await read();
      const { position } = await answer(api.PUT("/api/directory", { body: document }));
      setDone(differences(before, await read(position)));
      setFile(null);
      await written(position).catch(() => undefined); // it is taken in, whatever becomes of reading it again
    } catch (reason) {
      setError(reason);
    } finally {
      setBusy(false);
    }
  };

  return (
    <Stack gap="xs">
      <Title order={2} size="h4">
        {text.importTitle}
      </Title>
      <Text size="sm">{text.importHelp}</Text>
      <Group>
        <FileButton accept="application/json,.json" resetRef={forget} onChange={(chosen) => void choose(chosen)}>
          {(props) => (
            <Button variant="default" leftSection={<UploadIcon />} {...props}>
              {text.choose}
            </Button>
          )}
        </FileButton>
        {file !== null && (
          <Button loading={busy} onClick={() => void take(file.document)}>
            {text.take(file.name)}
          </Button>
        )}
      </Group>
      {file !== null && (
        <Text size="sm" c="dimmed">
          {text.has(sizeOf(file.document))}
        </Text>
      )}
      <div role="status">{done !== null && <Done differences={done} />}</div>
      {unreadable !== null && (
        <Alert color="red" variant="outline" role="alert" p="sm">
          {unreadable}
        </Alert>
      )}
      <Refusal error={error} title={text.nothingTaken} />
    </Stack>
  );
}

function Done({ differences: all }: { differences: Difference[] }) {
  if (all.length === 0) return <Text size="sm">{text.noChange}</Text>;
  return (
    <Stack gap={4}>
      <Text size="sm" fw={600}>
        {text.done(all.filter(({ isNew }) => isNew).length, all.filter(({ isNew }) => !isNew).length)}
      </Text>
      <ul>
        {all.map(({ section, id, isNew }) => (
          <li key={`${section}/${id}`}>
            <Text size="sm">{(isNew ? text.added : text.changed)(text.sections[section], id)}</Text>
          </li>
        ))}
      </ul>
    </Stack>
  );
}
