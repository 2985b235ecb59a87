/** A server with buckets, users and rules, and its clients: for tests of what a stranger may do. */
import { createHash } from 'node:crypto'
import type { S3Client } from '@aws-sdk/client-s3'
import type { Test } from 'tap'
import { type AdminClient, createAdminClient } from './admin.ts'
import { createClient } from './sdk.ts'
import { region, startServer, type TestServer } from './server.ts'
import { type Attempt, createSignedClient, type SignedClient } from './signed-client.ts'

/** The buckets `photos` and `other`; the users `ada` without any right, and `bob`, who may read and write. */
export interface World {
  readonly server: TestServer
  readonly admin: AdminClient
  readonly client: SignedClient
  readonly root: S3Client
  readonly ada: S3Client
  /** `200`, or `403 AccessDenied`; over the connections of one client. */
  said(attempt: Attempt): Promise<string>
  /** Without credentials. */
  anonymous(path: string, more?: Partial<Attempt>): Promise<string>
  rules(...rules: readonly object[]): Promise<unknown>
}

const adaKeys = { accessKeyId: 'ada', secretAccessKey: 'secret-of-ada' }
export const adaSigner = { accessKey: 'ada', secret: 'secret-of-ada', region }

export async function worldOf(t: Test, workers: string): Promise<World> {
  const server = await startServer({ environment: { SVC_WORKERS: workers, SVC_S3_DISTRIBUTIONS: 'on' } })
  const client = createSignedClient(server.port)
  const [root, ada] = [createClient(server), createClient(server, { credentials: adaKeys })]
  t.teardown(async () => {
    client.disconnect()
    root.destroy()
    ada.destroy()
    await server.remove()
  })
  const admin = createAdminClient(server)
  await admin.createUser('ada', { policyNames: [] })
  await admin.createUser('bob', { policyNames: ['readwrite'] })
  const said = async (attempt: Attempt) => {
    const { status, code } = await client.send(attempt)
    return code === undefined ? String(status) : `${status} ${code}`
  }
  for (const bucket of ['photos', 'other']) await client.send({ method: 'PUT', path: `/${bucket}` })
  for (const key of ['public/a', 'secret/b', 'public/%C3%A9', 'home/ada/c', 'inbox/seen'])
    await client.send({ method: 'PUT', path: `/photos/${key}`, body: `content of ${key}` })
  return {
    server,
    admin,
    client,
    root,
    ada,
    said,
    anonymous: (path, more = {}) => said({ method: 'GET', path, signer: null, ...more }),
    rules: (...rules) => admin.call('PUT', '/buckets/photos/access-rules', { rules }),
  }
}

export const allow = (more: object = {}) => ({
  id: 'allow',
  effect: 'allow',
  principals: ['*'],
  actions: ['read'],
  ...more,
})
export const deny = (more: object = {}) => ({ ...allow(more), id: 'deny', priority: 1, effect: 'deny', ...more })
export const prefix = (pattern: string, more: object = {}) => ({ match: { type: 'prefix', pattern, ...more } })
export const denied = '403 AccessDenied'
/** Of a form: its server puts the name of the file there. */
export const fileName = `\${filename}`

export const deletion = (keys: readonly string[]) =>
  `<Delete>${keys.map(key => `<Object><Key>${key}</Key></Object>`).join('')}</Delete>`
export const md5Of = (body: string) => ({ 'content-md5': createHash('md5').update(body).digest('base64') })
