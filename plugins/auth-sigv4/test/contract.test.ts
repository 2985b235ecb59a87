/** The contract of providers, for each place of a signature. */
import { authProviderContract } from 'svc/plugins/iam/contract'
import iam from 'svc/plugins/iam/index'
import { createFakeClock, startKernel } from 'svc/testing'
import t from 'tap'
import { presignUrl, signRequest } from '../api.ts'
import { createAuthSigv4 } from '../auth-sigv4.ts'
import plugin from '../index.ts'
import { accessKey, received, region, secretKey, signer } from './fixture.ts'

const nowMs = Date.UTC(2026, 6, 1)
const host = 'storage.example.org'
const clock = createFakeClock(nowMs)
const { services } = await startKernel({
  plugins: [plugin, iam],
  config: { iam: { rootUser: accessKey, rootPassword: secretKey } },
  ports: { clock },
})
const { provider } = createAuthSigv4({ iam: services.iam, clock, region })

const byHeader = (by = signer) =>
  received('GET', '/bucket/key', { ...signRequest(by, { method: 'GET', host, path: '/bucket/key', nowMs }).headers })
const presigned = (by = signer) => {
  const url = presignUrl(by, { method: 'GET', url: `http://${host}/bucket/key`, expiresSeconds: 60, nowMs })
  return received('GET', url.slice(`http://${host}`.length), { host })
}

for (const [place, sign] of [
  ['header', byHeader],
  ['presigned', presigned],
] as const) {
  t.test(`${place}: the provider keeps the contract`, t =>
    authProviderContract(t, () => ({
      provider,
      good: () => sign(),
      wrong: () => [sign({ ...signer, secret: 'another-secret' }), sign({ ...signer, accessKey: 'AKIANOBODY' })],
      secrets: [secretKey],
    })),
  )
}
