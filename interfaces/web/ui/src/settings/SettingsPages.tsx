export default function SettingsPages() { return <p>SettingsPages</p>; }
