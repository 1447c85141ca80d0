export default function AuditPage() { return <p>AuditPage</p>; }
