// All that happened to the request, in order.

import { Text } from "@mantine/core";

import type { HistoryItem, RequestView } from "../api/client";
import { Failure, Loading } from "../lib/State";
import { Time } from "../lib/Time";
import { Decision } from "../routing/Decision";
import { strings } from "../strings";
import { Marked } from "../text/Marked";
import { AnswerShown, type Shown } from "./AnswerShown";
import { useHistory } from "./data";
import { Fold } from "./Fold";
import { worded } from "./history-words";
import classes from "./request.module.css";
import { useWho } from "./who";

export function HistorySection({ id, request }: { id: string; request: RequestView }) {
  const history = useHistory(id);
  return (
    <Fold title={strings.request.history} open>
      {history.data !== undefined ? (
        <ol className={classes.history}>
          {history.data.map((item) => (
            <Entry key={item.position} item={item} request={request} />
          ))}
        </ol>
      ) : history.error !== null ? (
        <Failure error={history.error} retry={() => void history.refetch()} />
      ) : (
        <Loading />
      )}
    </Fold>
  );
}

function Entry({ item, request }: { item: HistoryItem; request: RequestView }) {
  const who = useWho();
  const { line, at, kind, aside } = worded(item, who);
  const written = (item.note ?? item.reason ?? item.error) as string | null | undefined;
  const assignment = item.type === "Reassigned" ? (item.assignment as RequestView["assignment"]) : null;
  return (
    <li className={classes.entry} data-kind={kind}>
      <Text size="sm" component="p" m={0}>
        <Marked text={line} />
        {at !== undefined && (
          <>
            {" "}
            <Time at={at} as="clock" />
          </>
        )}
        <Text span size="sm" c="dimmed">
          {typeof item.via === "string" && `, ${strings.request.via(item.via)}`}, <Time at={item.at} />
        </Text>
      </Text>
      {aside !== undefined && (
        <Text size="sm" c="dimmed">
          {aside}
          {typeof item.retry_at === "string" && (
            <>
              {" "}
              <Time at={item.retry_at} as="clock" />
            </>
          )}
        </Text>
      )}
      {typeof written === "string" && written !== "" && (
        <div className={classes.note} dir="auto">
          <Marked text={written} />
        </div>
      )}
      {item.type === "Responded" && item.sealed !== true && !request.erased && (
        <details>
          <summary className={classes.decided}>{strings.request.answer}</summary>
          <div className={classes.note}>
            <AnswerShown response={item as unknown as Shown} schema={request.response_schema} />
          </div>
        </details>
      )}
      {assignment !== null && assignment.level !== "command" && (
        <details>
          <summary className={classes.decided}>{strings.happened.decision}</summary>
          <Decision assignment={assignment} />
        </details>
      )}
    </li>
  );
}
