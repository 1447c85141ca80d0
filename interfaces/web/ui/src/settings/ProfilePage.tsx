export default function ProfilePage() { return <p>ProfilePage</p>; }
