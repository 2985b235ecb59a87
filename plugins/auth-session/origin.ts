/**
 * Where a browser says that a request comes from. `Sec-Fetch-Site` cannot be set by a page, so it decides alone where it is
 * sent (browsers send it to secure origins and to localhost); otherwise `Origin`, else `Referer`, has to be the console's.
 * Ports of one host are the same site: pages of the S3 listener get the session cookie, and are told apart here.
 */
import type { Exchange } from 'svc/plugins/http/api'

export type OriginCheck = (exchange: Exchange) => 'console' | 'foreign' | 'unknown'

/** `publicUrl` is where the console is for browsers, if that is not where it is for us. */
export function createOriginCheck(publicUrl: string | undefined): OriginCheck {
  const publicOrigin = publicUrl === undefined ? undefined : new URL(publicUrl).origin

  return exchange => {
    const { headers } = exchange.request
    const site = headers['sec-fetch-site']
    if (site !== undefined) return site === 'same-origin' ? 'console' : site === 'none' ? 'unknown' : 'foreign'
    const source = headers.origin ?? headers.referer
    if (source === undefined) return 'unknown'
    const origin = originOf(source)
    if (origin === undefined) return 'foreign'
    const own = originOf(`${exchange.secure ? 'https' : 'http'}://${exchange.host}`)
    return origin === own || origin === publicOrigin ? 'console' : 'foreign'
  }
}

/** Undefined for what has none: `null`, `about:blank`, text that is no URL. */
function originOf(url: string): string | undefined {
  if (!URL.canParse(url)) return undefined
  const { origin } = new URL(url)
  return origin === 'null' ? undefined : origin
}
