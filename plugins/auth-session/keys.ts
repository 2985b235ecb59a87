/** Configuration keys that other plugins read too. */
import { Type } from 'typebox'

export const browserRedirectUrlKey = Type.Optional(
  Type.String({
    variable: 'SVC_BROWSER_REDIRECT_URL',
    description: 'Public URL of the console, where a proxy gives it another one: pages from there are its own.',
    check: checkUrl,
  }),
)

function checkUrl(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be an absolute URL'
  const { protocol, username, password } = new URL(text)
  if (protocol !== 'http:' && protocol !== 'https:') return 'must begin with http:// or https://'
  return username === '' && password === '' ? undefined : 'must not hold credentials'
}
