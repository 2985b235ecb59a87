/** Addresses of providers' APIs, for kinds that let the configuration replace them. */

const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Why a URL cannot be where credentials are sent: as `check` of a configuration key. */
export function apiUrlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL'
  const { protocol, hostname, username, search, hash } = new URL(text)
  if (username !== '' || search !== '' || hash !== '' || text.endsWith('/')) {
    return 'must be a URL without user, query and fragment, and without a slash at its end'
  }
  if (protocol === 'https:' || (protocol === 'http:' && loopback.has(hostname))) return undefined
  return 'must begin with https://, but for addresses of this machine'
}

/** A value as the text of a TXT record is written: in quotes. 1 to 255 ASCII characters. */
export const quotedText = (value: string): string => `"${value.replace(/["\\]/g, '\\$&')}"`
