/** The provider in the chain, over users of its own, with a clock that stands still; and the client's side of the signature. */
import { createHmac, createSecretKey } from 'node:crypto'
import { definePlugin } from 'svc/kernel'
import authSigv4 from 'svc/plugins/auth-sigv4/index'
import type { Credentials, Identity, SignedDocument, SignedRequest } from 'svc/plugins/iam/api'
import iam from 'svc/plugins/iam/index'
import { createFakeClock, startKernel } from 'svc/testing'
import { createSigv2 } from '../auth-sigv2.ts'

/** The credentials of AWS's own examples. */
export const accessKey = 'AKIAIOSFODNN7EXAMPLE'
export const secretKey = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY'
export const rootUser = 'root-user'
export const rootPassword = 'root-password'
export const sessionToken = 'token-of-a-session'

/** By access key; all have the secret of the examples. */
const kinds: Readonly<Record<string, Partial<Identity>>> = {
  [accessKey]: {},
  'a:key:with:colons': {},
  AKIASHARE: { kind: 'share', isRestricted: true },
  AKIAOFROOT: { kind: 'access-key', isRoot: true },
}

function credentialsOf(name: string, more: Partial<Identity>): Credentials {
  return {
    identity: { accessKey: name, isRoot: false, ownerId: 'a'.repeat(64), displayName: name, ...more },
    signingSecret: createSecretKey(`AWS4${secretKey}`, 'utf8'),
    verificationKey: createSecretKey(secretKey, 'utf8'),
  }
}

export interface Setting {
  isOn: boolean
}

export async function startChain(nowMs: number, setting: Setting = { isOn: true }) {
  const directory = definePlugin({
    name: 'test-directory',
    requires: ['iam'],
    setup({ services, ports, contribute }) {
      contribute(
        'auth.provider',
        'sigv2',
        createSigv2({ iam: services.iam, clock: ports.clock, isOn: () => setting.isOn }),
      )
      contribute('iam.directory', 'test', {
        credentials: name => (Object.hasOwn(kinds, name) ? credentialsOf(name, kinds[name]!) : undefined),
        sessionCredentials: (name, token) => {
          if (token !== sessionToken) return 'invalid'
          return credentialsOf(name, { kind: 'session', userName: name === 'ASIAROOT' ? rootUser : 'ada' })
        },
        watchSecrets: () => () => {},
      })
    },
  })
  const { services } = await startKernel({
    plugins: [authSigv4, iam, directory],
    config: { iam: { rootUser, rootPassword } },
    ports: { clock: createFakeClock(nowMs) },
  })
  const chain = services.iam
  const client = '192.0.2.1'
  return {
    ...chain,
    authenticate: (request: SignedRequest) => chain.authenticate(request, client),
    authenticateForm: (fields: ReadonlyMap<string, string>) => chain.authenticateForm(fields, client),
    authenticateDocument: (request: SignedRequest, signed: SignedDocument) =>
      chain.authenticateDocument(request, signed, client),
  }
}

export const signText = (text: string, secret = secretKey): string =>
  createHmac('sha1', secret).update(text, 'utf8').digest('base64')

/** A request as the listener would hand it over: header names as they are sent. */
export function received(
  method: string,
  target: string,
  headers: readonly (readonly [name: string, value: string])[],
  more: Partial<SignedRequest> = {},
): SignedRequest {
  const question = target.indexOf('?')
  const joined: Record<string, string> = {}
  for (const [name, value] of headers) {
    const lower = name.toLowerCase()
    joined[lower] = joined[lower] === undefined ? value : `${joined[lower]}, ${value}`
  }
  return {
    api: 's3',
    method,
    rawPath: question < 0 ? target : target.slice(0, question),
    rawQuery: question < 0 ? '' : target.slice(question + 1),
    headers: joined,
    rawHeaders: headers.flat(),
    host: joined.host ?? 'storage.example.org',
    secure: true,
    ...more,
  }
}
