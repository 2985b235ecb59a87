/** OTLP over HTTP: a POST for each batch. Source: OpenTelemetry protocol, OTLP/HTTP. */
import type { HttpClientAnswer, HttpClientService } from 'svc/plugins/http-client/api'
import { tracesUrl } from './endpoint.ts'
import { readPartialSuccess } from './otlp.ts'
import { answerBytesMax, type Sender, type SenderOptions, type SendResult } from './sender.ts'

const retriedStatuses = new Set([429, 502, 503, 504])
const contentType = 'application/x-protobuf'

export function createHttpSender(httpClient: HttpClientService, options: SenderOptions): Sender {
  const { endpoint, headers, timeoutMs, authoritiesFile } = options
  const client = httpClient.client({
    purpose: 'tracing',
    reach: 'private',
    timeoutMs,
    connectionsMax: 1,
    tls: { authoritiesFile, certificateFile: '', keyFile: '', isVerified: true },
  })
  const url = tracesUrl(endpoint)
  const sent = { ...headers, 'content-type': contentType }
  return {
    async send(body) {
      try {
        return resultOf(await client.request({ url, headers: sent, body, answerBytesMax, isRepeatable: true }))
      } catch (error) {
        return { kind: 'unavailable', reason: (error as Error).message }
      }
    },
    close: () => client.close(),
  }
}

function resultOf({ status, headers, body }: HttpClientAnswer): SendResult {
  if (status < 200 || status > 299) {
    const reason = `it answered ${status}`
    if (!retriedStatuses.has(status)) return { kind: 'refused', reason }
    const seconds = Number(headers['retry-after'])
    return { kind: 'unavailable', reason, ...(seconds > 0 ? { afterMs: seconds * 1000 } : {}) }
  }
  try {
    return { kind: 'taken', ...readPartialSuccess(body) }
  } catch {
    // The status reports success; only the body was not a message of the protocol.
    return { kind: 'taken', rejectedSpans: 0, message: '' }
  }
}
