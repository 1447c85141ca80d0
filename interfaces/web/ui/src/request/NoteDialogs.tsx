// Actions that need no more than a word.

import { useState } from "react";

import { strings } from "../strings";
import { ActDialog, Note, type DialogProps } from "./ActDialog";
import { cancel, claim, release } from "./commands";
import { useAct } from "./useAct";

export function ClaimDialog({ id, request, onClose }: DialogProps) {
  const [note, setNote] = useState("");
  const acting = useAct(id);
  const confirm = async () => {
    if (await acting.act(() => claim(request.id, note), strings.act.claimed)) onClose();
  };
  return (
    <ActDialog
      title={strings.act.claimTitle}
      confirm={strings.act.claim}
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Note value={note} onChange={setNote} />
    </ActDialog>
  );
}

export function ReleaseDialog({ id, request, onClose }: DialogProps) {
  const [note, setNote] = useState("");
  const acting = useAct(id);
  const confirm = async () => {
    if (await acting.act(() => release(request.id, note), strings.act.released)) onClose();
  };
  return (
    <ActDialog
      title={strings.act.releaseTitle}
      how={strings.act.releaseHow}
      confirm={strings.act.doRelease}
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Note value={note} onChange={setNote} />
    </ActDialog>
  );
}

export function CancelDialog({ id, request, onClose }: DialogProps) {
  const [reason, setReason] = useState("");
  const acting = useAct(id);
  const confirm = async () => {
    if (await acting.act(() => cancel(request.id, reason), strings.act.cancelled)) onClose();
  };
  return (
    <ActDialog
      title={strings.act.cancelTitle}
      how={strings.act.cancelHow}
      confirm={strings.act.doCancel}
      back={strings.act.keep}
      danger
      acting={acting}
      onConfirm={() => void confirm()}
      onClose={onClose}
    >
      <Note value={reason} onChange={setReason} label={strings.act.reason} hint={strings.act.reasonHint} />
    </ActDialog>
  );
}
