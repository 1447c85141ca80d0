export default function RequestPanel(_: Record<string, unknown>) { return <p>RequestPanel</p>; }
