export function InboxPage(_: { scope: string; openId: string | null }) { return <p>Inbox</p>; }
