export default function RoutingPage() { return <p>RoutingPage</p>; }
