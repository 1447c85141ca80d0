import { askPermission, choose } from "./permission";
import { register } from "./worker";

/** After a click: ask, and have the worker ready that can show notifications everywhere. Whether it is on now. */
export async function turnOn(): Promise<boolean> {
  const given = await askPermission();
  choose({ on: given === "granted" });
  if (given !== "granted") return false;
  // Without the worker pages show notifications themselves.
  await register().catch(() => undefined);
  return true;
}
