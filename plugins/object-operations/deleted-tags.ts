/** What a request deleted, for its audit record, which has room for one object only. */

/** A record stays below the limits of targets, whatever a request deletes. */
const textLengthMax = 8192

/** `deleted`: the keys as JSON, as many as there is room for; `deletedCount`: of all of them. */
export function deletedTags(keys: readonly string[]): Readonly<Record<string, string>> {
  if (keys.length === 0) return {}
  const told: string[] = []
  let length = 2
  for (const key of keys) {
    const text = JSON.stringify(key)
    length += text.length + 1
    if (length > textLengthMax) break
    told.push(text)
  }
  return { deleted: `[${told.join(',')}]`, deletedCount: String(keys.length) }
}
