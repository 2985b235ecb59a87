/** The subsystem `api`: settings of the S3 API that operators change at run time. */
import type { Settings, SettingsService } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'

const originsMax = 100

export const ApiSettings = Type.Object({
  cors_allow_origin: Type.Array(Type.String(), {
    format: 'list',
    default: ['*'],
    check: checkOrigins,
    description:
      'Origins whose pages a browser may let read answers, where a bucket has no CORS rules of its own: `https://*.example.org`, separated by commas; * is all, empty is none. Grants no access by itself.',
  }),
  root_access: Type.Boolean({
    default: true,
    description:
      'off denies the S3 API to root: its password, its access keys without an embedded policy, and sessions made with them. The Admin API stays open to it.',
  }),
  acl_ignored: Type.Boolean({
    default: false,
    description:
      'on takes canned access control lists (x-amz-acl: public-read and its like) and ignores them, where they are refused otherwise: nothing becomes public by them. For clients that always send them.',
  }),
  signature_v2: Type.Boolean({
    default: false,
    description:
      'on takes Signature Version 2 (SHA-1, whatever the region is) beside Version 4, for old clients and the links that they make: never for root, shares and the Admin API. Needs the plugin auth-sigv2.',
  }),
  requests_max: Type.Integer({
    default: 0,
    minimum: 0,
    maximum: 1_000_000,
    description: 'How many requests of the S3 API may be under way at once in a node; 0 is no limit.',
  }),
  requests_deadline: Type.Integer({
    format: 'duration',
    default: 10_000,
    minimum: 0,
    maximum: 300_000,
    description: 'How long a request beyond requests_max waits for another to end; then it is refused (503 SlowDown).',
  }),
})
export type ApiSettings = Static<typeof ApiSettings>

export function declareApiSettings(settings: SettingsService): Settings<ApiSettings> {
  return settings.declare('api', { description: 'The S3 API, from the next request on.', keys: ApiSettings })
}

function checkOrigins(origins: unknown): string | undefined {
  const texts = origins as readonly string[]
  if (texts.length > originsMax) return `must be at most ${originsMax}`
  const isOrigin = (text: string) => text.length <= 255 && /^[\x21-\x7e]+$/.test(text) && text.split('*').length <= 2
  return texts.every(isOrigin) ? undefined : 'must be origins with at most one * each'
}
