/** All items of a list that comes in pages; `page` reads the one after a cursor, the first without. */
export async function everyItem<T>(
  page: (cursor: string | undefined) => Promise<{ items: T[]; next_cursor: string | null }>,
): Promise<T[]> {
  const found: T[] = [];
  let cursor: string | undefined;
  do {
    const { items, next_cursor } = await page(cursor);
    found.push(...items);
    cursor = next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found;
}
