export function EmbedShell() { return <p>Embed</p>; }
