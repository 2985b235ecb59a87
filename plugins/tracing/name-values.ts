/** Lists as `OTEL_EXPORTER_OTLP_HEADERS` and `OTEL_RESOURCE_ATTRIBUTES` have them: `name=value,name=value`, percent-encoded. */

/** Undefined where the text is no such list. */
export function readNameValues(text: string): ReadonlyMap<string, string> | undefined {
  const found = new Map<string, string>()
  for (const part of text.split(',')) {
    if (part.trim() === '') continue
    const equals = part.indexOf('=')
    const name = decode(part.slice(0, equals))
    const value = decode(part.slice(equals + 1))
    if (equals < 1 || !name || value === undefined) return undefined
    found.set(name, value)
  }
  return found
}

/** Undefined where it is not percent-encoded UTF-8. */
export function decode(text: string): string | undefined {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    // The caller reports it, without the text.
    return undefined
  }
}
