// Who would get this? A request is described, and routed as if it had been asked; nothing is created.

import { Title, Text } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api } from "../api/client";
import { useSignedIn } from "../api/session";
import { problemsIn } from "../lib/problems";
import { Empty, Failure } from "../lib/State";
import { usePageTitle } from "../shell/title";
import { strings } from "../strings";
import { bodyOf, NOTHING_YET, type Wanted } from "./ask";
import { AskForm } from "./AskForm";
import { Explained } from "./Explained";
import classes from "./routing.module.css";

const words = strings.routing;

export default function RoutingPage() {
  const { seesEverything } = useSignedIn();
  usePageTitle(strings.shell.routing);
  return (
    <div className={classes.page}>
      <div>
        <Title order={1} size="h3">
          {words.title}
        </Title>
        {seesEverything && <Text c="dimmed">{words.intro}</Text>}
      </div>
      {seesEverything ? <Explain /> : <Empty title={words.notAllowed}>{words.notAllowedHint}</Empty>}
    </div>
  );
}

function Explain() {
  const [wanted, setWanted] = useState<Wanted>(NOTHING_YET);
  const explain = useMutation({
    mutationFn: (asked: Wanted) => answer(api.POST("/api/routing/explain", { body: bodyOf(asked) })),
  });
  const problems = problemsIn(explain.error);
  return (
    <div className={classes.columns}>
      <AskForm
        wanted={wanted}
        onChange={setWanted}
        problems={problems ?? {}}
        sending={explain.isPending}
        onSend={() => explain.mutate(wanted)}
      />
      <div role="status" aria-label={words.result} className={classes.result}>
        {explain.data !== undefined && <Explained explained={explain.data} />}
        {explain.isError && problems === null && <Failure error={explain.error} />}
      </div>
    </div>
  );
}
