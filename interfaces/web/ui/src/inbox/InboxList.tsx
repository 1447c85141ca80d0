// The rows of an inbox: only those in view are there, however many there are.

import { UnstyledButton } from "@mantine/core";
import { useElementSize, useMergedRef } from "@mantine/hooks";
import { ArrowUpIcon } from "@primer/octicons-react";
import { defaultRangeExtractor, useVirtualizer, type Range } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useMemo, useRef, useState, type RefObject } from "react";

import type { RequestItem } from "../api/client";
import { useNames } from "../api/names";
import { useSignedIn } from "../api/session";
import type { Scope } from "../shell/Pages";
import { strings } from "../strings";
import classes from "./InboxList.module.css";
import { InboxRow } from "./InboxRow";
import { useInboxKeys } from "./useInboxKeys";
import { useOpened } from "./opened";
import { useSelection } from "./useSelection";
import { useStayingInPlace } from "./useStayingInPlace";

/** Narrower than this, a summary gets two lines. */
const NARROW = 560;
const ROW = { wide: 60, narrow: 82 };
const OUT_OF_VIEW = 10;
/** So many rows before the end of what was read, more is read. */
const READ_ON = 60;

interface Props {
  scope: Scope;
  rows: RequestItem[];
  more: () => void;
  openId: string | null;
}

export function InboxList({ scope, rows, more, openId }: Props) {
  const { me } = useSignedIn();
  const opened = useOpened(me.id);
  const names = useNames();
  const scroller = useRef<HTMLDivElement | null>(null);
  const { ref: measured, width } = useElementSize();
  const height = width > 0 && width < NARROW ? ROW.narrow : ROW.wide;
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const selection = useSelection(ids, openId);

  const list = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => height,
    getItemKey: (index) => ids[index] ?? index,
    overscan: OUT_OF_VIEW,
    // The selected row has the focus: it is there even where it is out of view.
    rangeExtractor: (range: Range) => withSelected(defaultRangeExtractor(range), selection.index, rows.length),
  });
  useLayoutEffect(() => list.measure(), [list, height]);
  const { above, toTop } = useStayingInPlace(scroller, ids, height);

  const shown = list.getVirtualItems();
  const reached = shown.findLast(({ index }) => index !== selection.index)?.index ?? 0;
  useEffect(() => {
    if (reached >= rows.length - READ_ON) more();
  }, [reached, rows.length, more]);

  const row = selection.index === -1 ? null : (rows[selection.index] ?? null);
  const keys = useInboxKeys({ row, openId, beside: selection.beside, select: selection.select });
  useFocusOnSelected(scroller, selection.id, openId, keys.moves);
  useEffect(() => {
    if (selection.index >= 0 && (openId !== null || keys.moves > 0)) list.scrollToIndex(selection.index);
    // Not when rows come and go: what one is looking at stays where it is.
  }, [selection.id, openId, keys.moves, list]); // eslint-disable-line react-hooks/exhaustive-deps

  return (
    <div className={classes.frame}>
      {above > 0 && (
        <UnstyledButton className={classes.above} onClick={toTop}>
          <ArrowUpIcon /> {strings.inbox.newer(above)}
        </UnstyledButton>
      )}
      <div ref={useMergedRef(scroller, measured)} className={classes.scroller}>
        <ul aria-label={strings.inbox.list[scope]} className={classes.list} style={{ height: list.getTotalSize() }}>
          {shown.map(({ index, key, start }) => {
            const item = rows[index];
            if (item === undefined) return null;
            const isSelected = item.id === selection.id;
            return (
              <li
                key={key}
                className={classes.item}
                style={{ height, transform: `translateY(${start}px)` }}
                aria-setsize={rows.length}
                aria-posinset={index + 1}
              >
                <InboxRow
                  item={item}
                  names={names}
                  me={me.id}
                  unread={!opened.has(item.id)}
                  open={item.id === openId}
                  selected={isSelected}
                  reachable={isSelected || (selection.index === -1 && index === 0)}
                  onFocus={selection.select}
                />
              </li>
            );
          })}
        </ul>
      </div>
    </div>
  );
}

function withSelected(range: number[], selected: number, count: number): number[] {
  if (selected < 0 || selected >= count || range.includes(selected)) return range;
  return selected < (range[0] ?? 0) ? [selected, ...range] : [...range, selected];
}

/** The focus goes with the selection: by keys, when the focused row has gone, and back to the list from a request. */
function useFocusOnSelected(
  scroller: RefObject<HTMLElement | null>,
  selected: string | null,
  openId: string | null,
  moves: number,
): void {
  const [before, setBefore] = useState({ openId, moves });
  const had = useRef(false);
  useEffect(() => {
    const note = () => {
      had.current = scroller.current?.contains(document.activeElement) ?? false;
    };
    document.addEventListener("focusin", note);
    document.addEventListener("pointerdown", note);
    return () => {
      document.removeEventListener("focusin", note);
      document.removeEventListener("pointerdown", note);
    };
  }, [scroller]);
  useLayoutEffect(() => {
    const closed = before.openId !== null && openId === null;
    const moved = moves !== before.moves;
    if (closed || moved || openId !== before.openId) setBefore({ openId, moves });
    if (openId !== null || selected === null) return;
    const nowhere = document.activeElement === null || document.activeElement === document.body;
    if (!moved && !(nowhere && (closed || had.current))) return;
    scroller.current?.querySelector<HTMLElement>(`[data-id="${CSS.escape(selected)}"]`)?.focus({ preventScroll: true });
  }, [scroller, selected, openId, moves, before]);
}
