// What administrators set up: who there is, and who is asked what.

import { Box, Stack, Text, Title } from "@mantine/core";
import type { ComponentType } from "react";
import { Link } from "wouter";

import { useSignedIn } from "../api/session";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { Agents } from "./Agents";
import { AgentTypes } from "./AgentTypes";
import { Categories } from "./Categories";
import { ImportExport } from "./ImportExport";
import { Keys } from "./Keys";
import { Lists } from "./Lists";
import { People } from "./People";
import { RequestTypes } from "./RequestTypes";
import classes from "./Settings.module.css";
import { Slack } from "./Slack";
import { Webhook } from "./Webhook";
import { Webhooks } from "./Webhooks";

const text = strings.settings;

interface Page {
  path: string;
  label: string;
  Part: ComponentType;
  /** The page of one entry, below. */
  One?: ComponentType<{ id: string }>;
}

const PARTS: Page[] = [
  { path: "people", label: text.people.title, Part: People },
  { path: "lists", label: text.lists.title, Part: Lists },
  { path: "agents", label: text.agents.title, Part: Agents },
  { path: "agent-types", label: text.agentTypes.title, Part: AgentTypes },
  { path: "categories", label: text.categories.title, Part: Categories },
  { path: "request-types", label: text.requestTypes.title, Part: RequestTypes },
  { path: "keys", label: text.keys.title, Part: Keys },
  { path: "webhooks", label: text.webhooks.title, Part: Webhooks, One: Webhook },
  { path: "slack", label: text.slack.title, Part: Slack },
  { path: "import-export", label: text.document.title, Part: ImportExport },
];

export default function SettingsPages({ params }: { params: { "*"?: string | undefined } }) {
  const { administers } = useSignedIn();
  const [sought, id, ...deeper] = (params["*"] || "people").split("/");
  const part = PARTS.find(({ path }) => path === sought);
  usePageTitle(administers && part !== undefined ? part.label : text.title);
  if (!administers) {
    return (
      <Stack p="lg" gap="xs">
        <Heading>{text.notYours}</Heading>
        <Text size="sm">{text.notYoursHelp}</Text>
      </Stack>
    );
  }
  return (
    <div className={`${classes.settings} ${classes.roomy}`}>
      <Box component="nav" className={classes.parts} aria-label={text.title}>
        <ul className={classes.partList}>
          {PARTS.map(({ path, label }) => (
            <li key={path}>
              <Link
                href={`/settings/${path}`}
                className={classes.part}
                aria-current={path !== sought ? undefined : id === undefined ? "page" : "true"}
              >
                {label}
              </Link>
            </li>
          ))}
        </ul>
      </Box>
      <section>
        {part !== undefined && id === undefined ? (
          <part.Part key={sought} />
        ) : part?.One !== undefined && id && deeper.length === 0 ? (
          <part.One key={id} id={id} />
        ) : (
          <Heading>{strings.shell.notFound}</Heading>
        )}
      </section>
    </div>
  );
}

function Heading({ children }: { children: string }) {
  return (
    <Title order={1} size="h3">
      {children}
    </Title>
  );
}
