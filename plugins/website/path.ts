/**
 * The path of a request, decoded once and strictly. Paths that a proxy in front could interpret differently are refused: dot segments,
 * backslashes, control characters, bad escapes, bytes that are not UTF-8. Nothing is resolved; `//` is kept, `%2F` is a slash.
 */
const badEscape = /%(?![0-9A-Fa-f]{2})/
const mayNeedDecoding = /[%\u0080-\uffff]/
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern detects them
const refused = /[\u0000-\u001f\u007f\\]/
const dotSegment = /(^|\/)\.{1,2}(\/|$)/

/** The decoded path with its leading slash; undefined for paths that are answered 400. `raw`: one character per byte, without the query. */
export function decodePath(raw: string, normalizeKey: (text: string) => string): string | undefined {
  if (raw.charCodeAt(0) !== 47 /* / */ || raw.includes('#')) return undefined
  let path = raw
  if (mayNeedDecoding.test(raw)) {
    if (badEscape.test(raw)) return undefined
    try {
      path = decodeURIComponent(raw.replace(/[\u0080-\u00ff]/g, byteEscape))
    } catch {
      // Not UTF-8, or UTF-8 that is longer than it need be.
      return undefined
    }
  }
  path = normalizeKey(path)
  return refused.test(path) || dotSegment.test(path) ? undefined : path
}

function byteEscape(character: string): string {
  return `%${character.charCodeAt(0).toString(16)}`
}

/** A decoded path as it stands in a URL. */
export function encodePath(path: string): string {
  return path.split('/').map(encodeURIComponent).join('/')
}
