/** The session cookie. Source: RFC 6265 and the draft that follows it. */

export const cookieName = 'svc_session'

/** Every value under our name: a page on another port can set a second one, which must not hide the right one. */
export function readSessionCookies(header: string | undefined): string[] {
  if (header === undefined) return []
  const values: string[] = []
  for (const part of header.split(';')) {
    const equals = part.indexOf('=')
    if (equals > 0 && part.slice(0, equals).trim() === cookieName) values.push(part.slice(equals + 1).trim())
  }
  return values.slice(0, valuesMax)
}

const valuesMax = 4

/** Whether a browser has sent a session cookie; the session may have ended. */
export function hasSessionCookie(header: string | undefined): boolean {
  return readSessionCookies(header).some(value => value !== '')
}

export function sessionCookie(value: string, secure: boolean, maxAgeSeconds: number): string {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Strict`
  return `${cookieName}=${value}; ${attributes}${secure ? '; Secure' : ''}`
}

export function clearedSessionCookie(secure: boolean): string {
  return sessionCookie('', secure, 0)
}
