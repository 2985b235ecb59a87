/** http-01 (RFC 8555, 8.3): the key authorization at a path that every host has, in plain text. */
import type { HostRoute, RawHandler } from 'svc/plugins/http/api'
import type { Challenges } from './challenges.ts'

const pathPrefix = '/.well-known/acme-challenge/'

export const httpChallengePath = (token: string): string => `${pathPrefix}${token}`

/** Tokens that are not pending for the host are left to the protocol of the listener. */
export function createHttpChallenge({ findHttp }: Pick<Challenges, 'findHttp'>): HostRoute {
  return {
    stage: 'challenge',
    listeners: ['s3', 'web'],
    pathPrefix,
    find(exchange) {
      const { method, url = '' } = exchange.request
      if (method !== 'GET' && method !== 'HEAD') return undefined
      const token = url.slice(pathPrefix.length).split('?', 1)[0]!
      const found = findHttp(token, hostOf(exchange.host))
      return found instanceof Promise ? found.then(answerWith) : answerWith(found)
    },
  }
}

/** The host without its port and final dot. */
function hostOf(host: string): string {
  const name = host.replace(/:\d{1,5}$/, '')
  return name.endsWith('.') ? name.slice(0, -1) : name
}

function answerWith(keyAuthorization: string | undefined): RawHandler | undefined {
  if (keyAuthorization === undefined) return undefined
  return ({ response }) => {
    const length = String(Buffer.byteLength(keyAuthorization))
    response.writeHead(200, ['Content-Type', 'text/plain', 'Content-Length', length, 'Cache-Control', 'no-store'])
    response.end(keyAuthorization)
  }
}
