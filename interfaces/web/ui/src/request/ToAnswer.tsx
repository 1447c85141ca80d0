// A way to the form, shown while it is out of sight below a long message.

import { Button } from "@mantine/core";
import { ArrowDownIcon } from "@primer/octicons-react";
import { useEffect, useState, type RefObject } from "react";

import { strings } from "../strings";
import classes from "./request.module.css";

export function ToAnswer({ form }: { form: RefObject<HTMLElement | null> }) {
  const [below, setBelow] = useState(false);
  useEffect(() => {
    const element = form.current;
    if (element === null) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry !== undefined) setBelow(!entry.isIntersecting && entry.boundingClientRect.top > 0);
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, [form]);
  if (!below) return null;
  const go = () => {
    form.current?.scrollIntoView({ block: "start" });
    form.current?.focus({ preventScroll: true });
  };
  return (
    <Button
      variant="default"
      size="xs"
      className={classes.toAnswer}
      rightSection={<ArrowDownIcon size={14} />}
      onClick={go}
    >
      {strings.request.toAnswer}
    </Button>
  );
}
