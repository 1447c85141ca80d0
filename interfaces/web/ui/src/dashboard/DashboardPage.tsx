export default function DashboardPage(_: Record<string, unknown>) { return <p>DashboardPage</p>; }
