import { isAbsolute } from 'node:path'
import type { HttpClientAnswer, HttpClientService } from 'svc/plugins/http-client/api'
import { PermanentDeliveryError } from 'svc/plugins/queue/api'
import type { SettingsProblem } from 'svc/plugins/settings/api'
import type { WebhookService, WebhookSettings } from './api.ts'

/** Receivers of operators live in their own networks. */
const reach = 'private'

/**
 * Answers that concern this document and would be the same next time. Other answers concern the receiver or the network and end when an
 * operator repairs that: a receiver answers 404 while it is deployed, a gateway 401 or 403 while a token is renewed. They are tried again
 * and make no dead letters. 410 is permanent by definition (RFC 9110, section 15.5.11).
 */
const permanentStatuses: ReadonlySet<number> = new Set([400, 410, 413, 415, 422])

export function createWebhookService(httpClient: HttpClientService): WebhookService {
  return {
    problems: settings => problemsOf(settings, httpClient),

    endpoint({ endpoint }) {
      if (!URL.canParse(endpoint)) return ''
      const { protocol, host, pathname } = new URL(endpoint)
      return `${protocol}//${host}${pathname}`
    },

    connect(settings, { purpose, concurrency }) {
      const { endpoint: url, timeout: timeoutMs } = settings
      const client = httpClient.client({
        purpose,
        reach,
        timeoutMs,
        connectionsMax: concurrency,
        tls: {
          authoritiesFile: settings.ca_cert,
          certificateFile: settings.client_cert,
          keyFile: settings.client_key,
          isVerified: !settings.tls_skip_verify,
        },
      })
      const headers = headersOf(settings)
      return {
        async post(body, signal) {
          requireDelivered(await client.request({ url, headers, body, signal, isRepeatable: true }), url)
        },
        close: () => client.close(),
      }
    },
  }
}

function headersOf({ auth_token: token }: WebhookSettings): Readonly<Record<string, string>> {
  const headers = { 'content-type': 'application/json', 'user-agent': 'svc' }
  if (token === '') return headers
  return { ...headers, authorization: token.includes(' ') ? token : `Bearer ${token}` }
}

/** Errors do not quote the answer, because it may repeat the request. */
function requireDelivered({ status }: HttpClientAnswer, url: string): void {
  if (status >= 200 && status < 300) return
  const { host } = new URL(url)
  if (status >= 300 && status < 400) {
    throw new Error(`${host} answers ${status}, a redirect, which is not followed: set the endpoint that it leads to`)
  }
  if (permanentStatuses.has(status)) throw new PermanentDeliveryError(`${host} refuses the document with ${status}`)
  throw new Error(`${host} answers ${status}`)
}

function problemsOf(settings: WebhookSettings, httpClient: HttpClientService): SettingsProblem[] {
  const problems: SettingsProblem[] = []
  const add = (key: string, problem: string | undefined) => {
    if (problem !== undefined) problems.push({ key, problem })
  }
  const { endpoint, auth_token: token, client_cert: certificate, client_key: key } = settings
  add('endpoint', endpoint === '' ? 'must be set' : httpClient.urlProblem(endpoint, reach))
  if (!/^[\x20-\x7e]*$/.test(token) || token !== token.trim()) {
    add('auth_token', 'must have only visible characters of ASCII, and spaces between them')
  }
  for (const name of ['client_cert', 'client_key', 'ca_cert'] as const) {
    const path = settings[name]
    if (path !== '' && !isAbsolute(path)) add(name, 'must be an absolute path')
  }
  if (certificate === '' && key !== '') add('client_cert', 'must be set where client_key is')
  if (certificate !== '' && key === '') add('client_key', 'must be set where client_cert is')
  return problems
}
