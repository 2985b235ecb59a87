/** Percent-encoding as it is pasted from an address bar: paths and keys are compared decoded. */
const escapes = /(?:%[0-9a-f]{2})+/gi

/** The text with its escapes decoded; undefined where it has none that is UTF-8. */
export function percentDecoded(text: string): string | undefined {
  const decoded = text.replace(escapes, run => {
    try {
      return decodeURIComponent(run)
    } catch {
      // No UTF-8: it stands for itself.
      return run
    }
  })
  return decoded === text ? undefined : decoded
}

/** Of a regular expression: what somebody has escaped or written as a class, which is no percent-encoding, or a run of escapes. */
const expressionParts = /\\.|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]|((?:%[0-9a-f]{2})+)/gis

/**
 * Whether a pattern is percent-encoded. `decoded` is missing where decoding yields ASCII that a glob or a regular expression could read as
 * something else than itself: who wrote it so would close less than is meant.
 */
export function encodedPattern({
  type,
  pattern,
}: {
  readonly type: 'prefix' | 'glob' | 'regex'
  readonly pattern: string
}): { readonly decoded?: string } | undefined {
  let isPlain = true
  const decodedRun = (run: string): string => {
    const decoded = percentDecoded(run)
    if (decoded === undefined) return run
    if (/(?! )\p{ASCII}/u.test(decoded)) isPlain = false
    return decoded
  }
  const decoded =
    type === 'regex'
      ? pattern.replace(expressionParts, (part: string, run?: string) => (run === undefined ? part : decodedRun(run)))
      : pattern.replace(escapes, decodedRun)
  if (decoded === pattern) return undefined
  return type === 'prefix' || isPlain ? { decoded } : {}
}
