import type { SettingsProblem } from 'svc/plugins/settings/api'
import { type Static, Type } from 'typebox'
import { itemPlaceholders, placeholders, placeholdersOf } from './template.ts'

export const GenericSettings = Type.Object({
  url: Type.String({
    minLength: 1,
    maxLength: 2048,
    destination: true,
    description:
      'Where requests go; may have placeholders, as `https://{host}{path}`. With a secret and a placeholder as host, `domains` are needed.',
  }),
  method: Type.Enum(['POST', 'PUT', 'PATCH', 'GET', 'DELETE', 'PURGE', 'BAN', 'REFRESH'], { default: 'POST' }),
  headers: Type.Record(Type.String({ maxLength: 64 }), Type.String({ maxLength: 2048 }), {
    default: {},
    maxProperties: 20,
    description: 'Of each request; values may have placeholders, as `Bearer {token}`.',
  }),
  body: Type.String({
    default: '',
    maxLength: 16_384,
    description: 'With placeholders; empty: none, or the document.',
  }),
  scheme: Type.Enum(['https', 'http', 'both'], { default: 'https', description: 'Of `{url}` and `{scheme}`.' }),
  token: Type.Optional(
    Type.String({
      secret: true,
      maxLength: 4096,
      description:
        'The placeholder `{token}`. Where no header and no body has it, it is sent as `Authorization: Bearer <token>`, or as it is with a space in it, unless `headers` has an `Authorization`.',
    }),
  ),
  clientSecret: Type.Optional(
    Type.String({
      secret: true,
      minLength: 16,
      maxLength: 1024,
      description: 'Signs each request: `X-Svc-Signature`.',
    }),
  ),
})

export type GenericSettings = Static<typeof GenericSettings>

/**
 * Headers of connections and messages, which this server sets itself. `Host` is allowed: caches select the copy by it, and addresses are checked
 * anyway.
 */
const refusedHeaders =
  /^(?:connection|content-length|transfer-encoding|keep-alive|te|trailer|upgrade|expect|proxy-.*|x-svc-.*)$/i

export function settingsProblems(
  settings: GenericSettings,
  urlProblem: (url: string) => string | undefined = () => undefined,
): SettingsProblem[] {
  const { url, headers, body, method } = settings
  const problems: SettingsProblem[] = []
  const named = url.replaceAll('{scheme}', 'https').replaceAll('{host}', 'host.test')
  const example = named
    .replace(/^\{url\}/, 'https://host.test/')
    .replaceAll('{path}', '/')
    .replaceAll(/\{\w+\}/g, 'x')
  const problem = URL.canParse(example) ? urlProblem(example) : 'must be an absolute URL'
  if (problem !== undefined) problems.push({ key: 'url', problem })
  for (const [key, text] of [
    ['url', url],
    ['body', body],
    ...Object.values(headers).map(value => ['headers', value] as const),
  ] as const) {
    const unknown = placeholdersOf(text).find(name => !placeholders.has(name))
    // Braces of JSON are no placeholders: those are words of letters.
    if (unknown !== undefined) problems.push({ key, problem: `has {${unknown}}, which is no placeholder` })
  }
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name) || refusedHeaders.test(name))
      problems.push({ key: 'headers', problem: `cannot have ${JSON.stringify(name)}` })
    if (!/^[\x20-\x7e]*$/.test(value))
      problems.push({ key: 'headers', problem: `has characters in ${name} that no header may have` })
  }
  if (/\{(token)\}/.test(url)) problems.push({ key: 'url', problem: 'must not have {token}: URLs are logged' })
  const hasBody = body !== '' || !hasItems(settings)
  if (hasBody && method === 'GET') problems.push({ key: 'method', problem: 'cannot be GET: the request has a body' })
  return problems
}

/** The headers with that of a token for which the settings name no place: what is given is meant to be sent. */
export function headersWithToken({
  headers,
  body,
  token = '',
}: Pick<GenericSettings, 'headers' | 'body' | 'token'>): Readonly<Record<string, string>> {
  const isNamed = [body, ...Object.values(headers)].flatMap(placeholdersOf).includes('token')
  const isTaken = Object.keys(headers).some(name => name.toLowerCase() === 'authorization')
  if (token === '' || isNamed || isTaken) return headers
  return { ...headers, authorization: token.includes(' ') ? '{token}' : 'Bearer {token}' }
}

/** One request for each item; otherwise one for all of them. */
export function hasItems({ url, headers, body }: Pick<GenericSettings, 'url' | 'headers' | 'body'>): boolean {
  return [url, body, ...Object.values(headers)].flatMap(placeholdersOf).some(name => itemPlaceholders.has(name))
}
