/** Real processes with no worker and with two: every change applies to the next request, in any thread. */
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { presignUrl, signRequest } from 'svc/plugins/auth-sigv4/api'
import type { Keys } from 'svc/plugins/s3/testing'
import t from 'tap'
import { rootPassword, rootUser } from '../testing.ts'

const main = new URL('../../../kernel/main.ts', import.meta.url).pathname
const fixture = new URL('./fixtures/control.ts', import.meta.url).pathname
const folder = await mkdtemp(join(tmpdir(), 'svc-users-wire-'))
t.teardown(() => rm(folder, { recursive: true, force: true }))
const configFile = join(folder, 'config.json')
await writeFile(configFile, JSON.stringify({ plugins: ['svc/plugins/standard', fixture] }))

const root: Keys = { accessKey: rootUser, secretKey: rootPassword }
const region = 'us-east-1'

interface Answer {
  readonly status: number
  /** Code of the S3 error, or empty. */
  readonly code: string
  /** Each thread has its own value. */
  readonly host: string
  readonly body: string
}

interface Server {
  readonly port: number
  readonly log: () => string
  // biome-ignore lint/suspicious/noExplicitAny: whatever the method resolves with
  control(method: string, ...args: unknown[]): Promise<any>
  send(
    keys: Keys,
    method: string,
    path: string,
    options?: { body?: string; headers?: Record<string, string> },
  ): Promise<Answer>
  get(url: string): Promise<Answer>
}

const children: ChildProcess[] = []
t.teardown(async () => {
  for (const child of children) {
    if (child.exitCode !== null) continue
    child.kill('SIGTERM')
    await once(child, 'exit')
  }
})

async function startServer(workers: number): Promise<Server> {
  const drive = join(folder, `drive-${workers}`)
  const child = spawn(process.execPath, ['--conditions=svc-src', main, 'server', drive], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      SVC_CONFIG_FILE: configFile,
      SVC_ROOT_USER: rootUser,
      SVC_ROOT_PASSWORD: rootPassword,
      SVC_WORKERS: String(workers),
      SVC_ADDRESS: '127.0.0.1:0',
      SVC_CONSOLE_ADDRESS: '127.0.0.1:0',
    },
  })
  children.push(child)
  let log = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', data => {
      log += data
    })
  }
  let ready: { s3: string; console: string } | undefined
  for (let tries = 0; tries < 1800 && ready === undefined; tries++) {
    const line = log.split('\n').find(line => line.includes('"msg":"ready"'))
    if (line !== undefined) ready = JSON.parse(line)
    else if (child.exitCode !== null) break
    else await delay(50)
  }
  if (ready === undefined) throw new Error(`the server did not start: ${log}`)
  const port = Number(ready.s3.split(':')[1])
  return {
    port,
    log: () => log,
    async control(method, ...args) {
      const answer = await fetch(`http://${ready.console}/control`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ method, args }),
      })
      const { value, code, ...rest } = (await answer.json()) as { value?: unknown; code?: string }
      if (answer.status !== 200) throw new Error(JSON.stringify(rest))
      return code ?? value
    },
    send(keys, method, path, { body = '', headers = {} } = {}) {
      const host = `127.0.0.1:${port}`
      const signed = signRequest(
        { accessKey: keys.accessKey, secret: keys.secretKey, region },
        {
          method,
          host,
          path: path.split('?')[0]!,
          query: path.split('?')[1],
          nowMs: Date.now(),
          payload: 'UNSIGNED-PAYLOAD',
          headers: {
            ...headers,
            ...(keys.sessionToken === undefined ? {} : { 'x-amz-security-token': keys.sessionToken }),
          },
        },
      )
      return exchange(`http://${host}${path}`, method, { ...signed.headers }, body)
    },
    get: url => exchange(url, 'GET', {}, ''),
  }
}

/** Over a connection of its own, so that any thread may accept it. */
async function exchange(url: string, method: string, headers: Record<string, string>, body: string): Promise<Answer> {
  const sent = request(url, {
    method,
    agent: false,
    headers: { ...headers, 'content-length': String(Buffer.byteLength(body)) },
  })
  sent.end(body)
  const [response] = await once(sent, 'response')
  const answer = await text(response)
  return {
    status: response.statusCode,
    code: /<Code>(\w+)<\/Code>/.exec(answer)?.[1] ?? '',
    host: String(response.headers['x-amz-id-2']),
    body: answer,
  }
}

for (const workers of [0, 2]) {
  t.test(`with ${workers} workers`, async t => {
    const server = await startServer(workers)
    const { send, control } = server
    const hosts = new Set<string>()
    /** Several requests at once, over connections of their own: every thread has the same answer. */
    const all = async (keys: Keys, method: string, path: string, options?: Parameters<typeof send>[3]) => {
      const answers = await Promise.all(Array.from({ length: 6 }, () => send(keys, method, path, options)))
      for (const { host } of answers) hosts.add(host)
      const said = new Set(answers.map(({ status, code }) => `${status} ${code}`.trim()))
      return [...said].sort().join(' and ')
    }
    await send(root, 'PUT', '/bucket')
    await send(root, 'PUT', '/bucket/key', { body: 'hello', headers: { 'x-amz-tagging': 'team=red' } })
    const { secretKey } = await control('createUser', { accessKey: 'ada' })
    const ada: Keys = { accessKey: 'ada', secretKey }

    t.test('a change applies to the next request in every thread', async t => {
      await control('createGroup', { name: 'readers', members: ['ada'] })
      const attach = ['attachPolicies', { group: 'readers' }, ['readonly']] as const
      const detach = ['detachPolicies', { group: 'readers' }, ['readonly']] as const
      const mistakes: string[] = []
      const expect = async (wanted: string, what: string) => {
        const said = await all(ada, 'GET', '/bucket/key')
        if (said !== wanted) mistakes.push(`${what}: ${said} instead of ${wanted}`)
      }
      for (let round = 0; round < 25; round++) {
        await control(...attach)
        await expect('200', 'attached')
        await control('updateUser', 'ada', { status: 'disabled' })
        await expect('403 InvalidAccessKeyId', 'disabled')
        await control('updateUser', 'ada', { status: 'enabled' })
        await expect('200', 'enabled')
        await control('updateGroup', 'readers', { status: 'disabled' })
        await expect('403 AccessDenied', 'group disabled')
        await control('updateGroup', 'readers', { status: 'enabled' })
        await control(...detach)
        await expect('403 AccessDenied', 'detached')
        await control('putPolicy', 'mine', statement('Allow', round % 2 === 0 ? 's3:GetObject' : 's3:PutObject'))
        if (round === 0) await control('attachPolicies', { user: 'ada' }, ['mine'])
        await expect(round % 2 === 0 ? '200' : '403 AccessDenied', 'policy replaced')
        const { key, secretKey } = await control('createAccessKey', '$root', { user: 'ada' })
        const { secretKey: second } = await control('rotateAccessKey', '$root', key.accessKey)
        const old = await all({ accessKey: key.accessKey, secretKey }, 'GET', '/bucket/key')
        if (old !== '403 SignatureDoesNotMatch') mistakes.push(`rotated: ${old}`)
        await control('deleteAccessKey', '$root', key.accessKey)
        const gone = await all({ accessKey: key.accessKey, secretKey: second }, 'GET', '/bucket/key')
        if (gone !== '403 InvalidAccessKeyId') mistakes.push(`deleted: ${gone}`)
        await control('putPolicy', 'mine', statement('Allow', 's3:PutObject'))
      }
      t.strictSame(mistakes, [])
      t.equal(hosts.size, Math.max(1, workers), 'every thread was asked')
      await control('detachPolicies', { user: 'ada' }, ['mine'])
    })

    t.test('a user sees its own documents, and does not learn of others', async t => {
      await control('putPolicy', 'get', statement('Allow', 's3:GetObject'))
      await control('attachPolicies', { user: 'ada' }, ['get'])
      t.equal(await all(ada, 'GET', '/bucket/key'), '200')
      t.equal(await all(ada, 'GET', '/bucket/missing'), '403 AccessDenied')
      t.equal(await all(ada, 'HEAD', '/bucket/missing'), '403')
      t.notMatch((await send(ada, 'GET', '/')).body, /<Name>/)
      await control('putPolicy', 'list', statement('Allow', 's3:ListBucket', 'arn:aws:s3:::bucket'))
      await control('attachPolicies', { user: 'ada' }, ['list'])
      t.equal(await all(ada, 'GET', '/bucket/missing'), '404 NoSuchKey')
      t.equal(await all(ada, 'HEAD', '/bucket/missing'), '404')
      await send(root, 'PUT', '/other-bucket')
      t.strictSame((await send(ada, 'GET', '/')).body.match(/<Name>[^<]+/g), ['<Name>bucket'])
      t.equal(await all({ ...ada, secretKey: 'wrong-secret' }, 'GET', '/bucket/key'), '403 SignatureDoesNotMatch')
      t.equal(await all({ ...ada, accessKey: 'eve' }, 'GET', '/bucket/key'), '403 InvalidAccessKeyId')
      await control('attachPolicies', { user: 'ada' }, ['readwrite'])
      t.equal(await all(ada, 'PUT', '/bucket-of-ada'), '200')
      const owner = /<ID>([0-9a-f]{64})<\/ID>/
      const [own, ofRoot] = await Promise.all([send(ada, 'GET', '/'), send(root, 'GET', '/')])
      t.equal(owner.exec(own.body)?.[1], owner.exec(ofRoot.body)?.[1], 'one deployment, one owner')
      await control('detachPolicies', { user: 'ada' }, ['readwrite', 'get', 'list'])
    })

    t.test('conditions on existing tags, and on tags of the request', async t => {
      await control('putPolicy', 'red', {
        Version: '2012-10-17',
        Statement: [
          {
            Effect: 'Allow',
            Action: ['s3:GetObject', 's3:GetObjectVersion'],
            Resource: 'arn:aws:s3:::bucket/*',
            Condition: { StringEquals: { 's3:ExistingObjectTag/team': 'red' } },
          },
          { Effect: 'Allow', Action: ['s3:PutObject', 's3:PutObjectTagging'], Resource: 'arn:aws:s3:::bucket/*' },
          {
            Effect: 'Deny',
            Action: ['s3:PutObject', 's3:PutObjectTagging'],
            Resource: 'arn:aws:s3:::bucket/*',
            Condition: { StringEquals: { 's3:RequestObjectTag/team': 'red' } },
          },
        ],
      })
      await control('attachPolicies', { user: 'ada' }, ['red'])
      await send(root, 'PUT', '/bucket/blue', { body: 'blue', headers: { 'x-amz-tagging': 'team=blue' } })
      t.equal(await all(ada, 'GET', '/bucket/key'), '200')
      t.equal(await all(ada, 'GET', '/bucket/blue'), '403 AccessDenied')
      t.equal(await all(ada, 'GET', '/bucket/missing'), '403 AccessDenied')
      const copy = (from: string) =>
        all(ada, 'PUT', '/bucket/copy', {
          headers: { 'x-amz-copy-source': from, 'x-amz-tagging-directive': 'REPLACE' },
        })
      t.equal(await copy('/bucket/blue'), '403 AccessDenied')
      t.equal(await copy('/bucket/key'), '200')
      t.equal(await all(ada, 'PUT', '/bucket/new', { headers: { 'x-amz-tagging': 'team=red' } }), '403 AccessDenied')
      t.equal(await all(ada, 'PUT', '/bucket/new', { headers: { 'x-amz-tagging': 'team=blue' } }), '200')
      const tagging = (team: string) =>
        all(ada, 'PUT', '/bucket/blue?tagging', {
          body: `<Tagging><TagSet><Tag><Key>team</Key><Value>${team}</Value></Tag></TagSet></Tagging>`,
        })
      t.equal(await tagging('red'), '403 AccessDenied')
      t.equal(await tagging('green'), '200')
      await control('detachPolicies', { user: 'ada' }, ['red'])
    })

    t.test('sessions and shares', async t => {
      await control('attachPolicies', { user: 'ada' }, ['readwrite'])
      const { key, secretKey } = await control('createAccessKey', '$root', {
        user: 'ada',
        share: { bucket: 'bucket', key: 'key' },
      })
      const signer = { accessKey: key.accessKey, secret: secretKey, region }
      const link = (path: string) =>
        presignUrl(signer, {
          method: 'GET',
          url: `http://127.0.0.1:${server.port}${path}`,
          expiresSeconds: 60,
          nowMs: Date.now(),
        })
      t.match(await server.get(link('/bucket/key')), { status: 200, body: 'hello' })
      t.match(await server.get(link('/bucket/blue')), { status: 403, code: 'AccessDenied' })
      t.equal(
        await all({ accessKey: key.accessKey, secretKey }, 'GET', '/bucket/key'),
        '403 AccessDenied',
        'only as a link',
      )
      await control('deleteAccessKey', '$root', key.accessKey)
      t.match(await server.get(link('/bucket/key')), { status: 403, code: 'InvalidAccessKeyId' })

      const session: Keys & { expiresMs: number } = await control('createSession', '$rootIdentity', {
        durationSeconds: 900,
        sessionName: 'test',
        policy: JSON.stringify(statement('Allow', 's3:GetObject')),
      })
      t.equal(await all(session, 'GET', '/bucket/key'), '200')
      t.equal(await all(session, 'PUT', '/bucket/new'), '403 AccessDenied')
      t.equal(await all({ ...session, sessionToken: undefined }, 'GET', '/bucket/key'), '403 InvalidAccessKeyId')
      t.equal(await all({ ...session, sessionToken: 'AAAA' }, 'GET', '/bucket/key'), '400 InvalidToken')
      t.equal(await all({ ...ada, sessionToken: session.sessionToken }, 'GET', '/bucket/key'), '400 InvalidToken')
      t.equal(await all({ ...session, secretKey: 'wrong-secret' }, 'GET', '/bucket/key'), '403 SignatureDoesNotMatch')
      const url = `http://127.0.0.1:${server.port}/bucket/key?X-Amz-Security-Token=${session.sessionToken}`
      const presigned = presignUrl(
        { accessKey: session.accessKey, secret: session.secretKey, region },
        { method: 'GET', url, expiresSeconds: 60, nowMs: Date.now() },
      )
      t.match(await server.get(presigned), { status: 200, body: 'hello' })
      t.notMatch(server.log(), new RegExp(session.sessionToken!))
    })

    t.test('boto3 with the keys of a user', async t => {
      await control('setUserSecretKey', 'ada', 'secret-of-ada')
      const output = execFileSync('python3', ['-c', boto, `http://127.0.0.1:${server.port}`, 'ada', 'secret-of-ada'], {
        encoding: 'utf8',
      })
      t.strictSame(JSON.parse(output), { body: 'hello', put: 200, forbidden: 'SignatureDoesNotMatch' })
      t.notMatch(server.log(), /secret-of-ada/)
    })
  })
}

const boto = `
import sys, json, boto3
from botocore.config import Config
from botocore.exceptions import ClientError
endpoint, key, secret = sys.argv[1:]
def client(secret):
    return boto3.client('s3', endpoint_url=endpoint, region_name='us-east-1', aws_access_key_id=key, aws_secret_access_key=secret,
        config=Config(s3={'addressing_style': 'path'}, retries={'max_attempts': 1}))
s3 = client(secret)
body = s3.get_object(Bucket='bucket', Key='key')['Body'].read().decode()
put = s3.put_object(Bucket='bucket', Key='boto', Body=b'x')['ResponseMetadata']['HTTPStatusCode']
try:
    client('another').get_object(Bucket='bucket', Key='key')
    forbidden = 'ok'
except ClientError as error:
    forbidden = error.response['Error']['Code']
print(json.dumps({'body': body, 'put': put, 'forbidden': forbidden}))
`

function statement(Effect: 'Allow' | 'Deny', Action: string, Resource = 'arn:aws:s3:::*') {
  return { Version: '2012-10-17', Statement: [{ Effect, Action, Resource }] }
}
