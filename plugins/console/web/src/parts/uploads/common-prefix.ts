/** Without its last letter, and what is not ASCII before that: keys may go on with marks or letters that the server puts together with these. */
export function commonPrefix(keys: readonly string[]): string {
  let prefix = keys[0] ?? ''
  for (const key of keys) {
    while (!key.startsWith(prefix)) prefix = prefix.slice(0, -1)
  }
  return keys.length === 1 || prefix.endsWith('/') ? prefix : prefix.replace(/[ -.0-~]?[^ -~]*$/, '')
}
