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
