import { Alert, Code, CopyButton, Progress, Text, Title, UnstyledButton } from "@mantine/core";
import { AlertIcon, CheckIcon, CopyIcon, ShieldCheckIcon, SyncIcon } from "@primer/octicons-react";
import { useQuery, useQueryClient } from "@tanstack/react-query";

import { answer, api, type Schemas } from "../api/client";
import { Failure } from "../lib/State";
import { useThrottled } from "../lib/throttle";
import { Time } from "../lib/Time";
import { useFrames } from "../live/live";
import { strings } from "../strings";
import classes from "./audit.module.css";

const words = strings.audit;
const VERIFICATION = ["audit", "verification"];
const HEAD = ["audit", "head"];
const EVERY_MS = 1_000;

type Verified = Schemas["VerificationView"];

/** Each question makes the server check some more, so it is asked until the newest event is reached. */
function wantsMore(verified: Verified | undefined): boolean {
  return verified !== undefined && verified.intact && verified.verified_to < verified.head_position;
}

/** Whether the log is what was written, and its newest link, to be kept elsewhere. */
export function Integrity() {
  const queries = useQueryClient();
  const verification = useQuery({
    queryKey: VERIFICATION,
    staleTime: 0,
    queryFn: () => answer(api.GET("/api/audit/verification", {})),
    refetchInterval: ({ state }) => (wantsMore(state.data) ? 100 : false),
  });
  const head = useQuery({
    queryKey: HEAD,
    staleTime: 0,
    queryFn: () => answer(api.GET("/api/audit/head", {})),
  });
  const soon = useThrottled(() => {
    void queries.invalidateQueries({ queryKey: VERIFICATION });
    void queries.invalidateQueries({ queryKey: HEAD });
  }, EVERY_MS);
  useFrames(soon);

  const error = verification.error ?? head.error;
  return (
    <section className={classes.integrity}>
      <Title order={2} size="sm">
        {words.chain}
      </Title>
      {error !== null && (
        <Failure
          error={error}
          retry={() => {
            void verification.refetch();
            void head.refetch();
          }}
        />
      )}
      {verification.data !== undefined && <State verified={verification.data} />}
      {head.data !== undefined && <Head head={head.data} />}
    </section>
  );
}

function State({ verified }: { verified: Verified }) {
  const { verified_to, head_position, intact, problem } = verified;
  if (!intact) {
    return (
      <Alert role="alert" color="red" variant="outline" icon={<AlertIcon />} title={words.broken}>
        <Text size="sm">{problem}</Text>
        <Text size="sm" mt="xs">
          {words.whatToDo} <Code>{words.command}</Code>
        </Text>
      </Alert>
    );
  }
  if (!wantsMore(verified)) {
    return (
      <Text className={classes.intact} role="status">
        <ShieldCheckIcon /> {words.intact(verified_to)}
      </Text>
    );
  }
  return (
    <div>
      <Text className={classes.checking} role="status">
        <SyncIcon /> {words.verifying(verified_to, head_position)}
      </Text>
      <Progress value={(100 * verified_to) / head_position} aria-label={words.progress} size="sm" mt={6} />
    </div>
  );
}

function Head({ head }: { head: Schemas["HeadView"] }) {
  return (
    <dl className={classes.head}>
      <div>
        <dt>{words.position}</dt>
        <dd>{head.position.toLocaleString()}</dd>
      </div>
      <Copied label={words.hash} value={head.hash} />
      <div>
        <dt>{words.signedAt}</dt>
        <dd>
          <Time at={head.at} as="clock" />
        </dd>
      </div>
      <Copied label={words.publicKey} value={head.public_key} />
    </dl>
  );
}

function Copied({ label, value }: { label: string; value: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        <code title={value}>{value.slice(0, 12)}…</code>
        <CopyButton value={value}>
          {({ copied, copy }) => (
            <UnstyledButton
              className={classes.copy}
              aria-label={copied ? words.copied : words.copy(label)}
              title={words.copy(label)}
              onClick={copy}
            >
              {copied ? <CheckIcon size={14} /> : <CopyIcon size={14} />}
            </UnstyledButton>
          )}
        </CopyButton>
      </dd>
    </div>
  );
}
