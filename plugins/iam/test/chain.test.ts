/** The chain of providers, as the plugin creates it. */
import { CatalogError, definePlugin } from 'svc/kernel'
import { startKernel } from 'svc/testing'
import t from 'tap'
import type { AuthAnswer, AuthProvider, Identity, SignedRequest } from '../api.ts'
import plugin from '../index.ts'

const identity = (accessKey: string): Identity => ({
  accessKey,
  isRoot: false,
  ownerId: 'a'.repeat(64),
  displayName: accessKey,
})
const principal = (accessKey: string): AuthAnswer => ({ identity: identity(accessKey), method: 'header' })

const request = (headers: SignedRequest['headers'] = {}, rawQuery = ''): SignedRequest => ({
  api: 's3',
  method: 'GET',
  rawPath: '/',
  rawQuery,
  headers,
  host: 'h',
  secure: true,
})

async function start(providers: Readonly<Record<string, AuthProvider>>) {
  const contributor = definePlugin({
    name: 'test-providers',
    setup({ contribute }) {
      for (const [id, provider] of Object.entries(providers)) contribute('auth.provider', id, provider)
      contribute('auth.anonymous', 'test', headers => ({
        identity: undefined,
        method: 'anonymous',
        payload: headers['x-amz-content-sha256'] === undefined ? { kind: 'unsigned' } : { kind: 'sha256', hex: 'ff' },
        createDecoder: () => undefined,
      }))
      return {}
    },
  })
  const { services } = await startKernel({
    plugins: [contributor, plugin],
    config: { iam: { rootUser: 'root-user', rootPassword: 'root-password' } },
  })
  return services.iam
}

/** A provider that recognizes one word in the Authorization header. */
const scheme = (
  word: string,
  answer: () => ReturnType<AuthProvider['authenticate']>,
  before?: string[],
): AuthProvider => ({
  ...(before && { before }),
  authenticate: ({ headers }) => (headers.authorization === word ? answer() : undefined),
})

const codeOf = async (run: () => unknown): Promise<string> => {
  try {
    await run()
    return 'served'
  } catch (error) {
    return error instanceof CatalogError ? `${error.code} ${error.status}` : String(error)
  }
}

t.test('the first provider that recognizes the credentials decides, and no other is asked', async t => {
  const asked: string[] = []
  const note = (id: string, answers: boolean): AuthProvider => ({
    authenticate() {
      asked.push(id)
      return answers ? principal(id) : undefined
    },
  })
  const iam = await start({ a: note('a', false), b: note('b', true), c: note('c', true) })
  const answer = iam.authenticate(request())
  t.notOk(answer instanceof Promise, 'nothing has to be waited for')
  t.equal((await answer).identity?.accessKey, 'b')
  t.same(asked, ['a', 'b'])
})

t.test('a provider is asked before those that it names, for any order of plugins', async t => {
  const answers = (id: string, before?: string[]): AuthProvider => ({
    ...(before && { before }),
    authenticate: () => principal(id),
  })
  const first = async (providers: Readonly<Record<string, AuthProvider>>) =>
    (await (await start(providers)).authenticate(request())).identity?.accessKey
  t.equal(await first({ a: answers('a'), b: answers('b') }), 'a')
  t.equal(await first({ a: answers('a'), b: answers('b', ['a']) }), 'b')
  t.equal(await first({ a: answers('a'), b: answers('b', ['a']), c: answers('c', ['b', 'absent']) }), 'c')
  await t.rejects(first({ a: answers('a', ['b']), b: answers('b', ['a']) }), {
    message: /these contributions to "auth\.provider" must each be asked before the other: a, b/,
  })
})

t.test('a failure refuses the request, and no later provider can allow it', async t => {
  const refusal = () => {
    throw new CatalogError('AccessDenied', 403, 'no')
  }
  const defect = () => {
    throw new TypeError('a defect')
  }
  const others: AuthProvider = { authenticate: () => principal('eve') }
  for (const [name, fail, expected] of [
    ['an error that is thrown', refusal, 'AccessDenied 403'],
    ['a rejection', async () => refusal(), 'AccessDenied 403'],
    ['a defect', defect, 'TypeError: a defect'],
    ['a defect later', async () => defect(), 'TypeError: a defect'],
    ['nobody, at once', () => ({ method: 'header' }) as never, 'AccessDenied 403'],
    ['nobody, later', async () => undefined as never, 'AccessDenied 403'],
  ] as const) {
    const iam = await start({
      failing: { authenticate: fail, authenticateForm: fail, authenticateDocument: fail },
      others,
    })
    const document = { service: 'sts', document: Buffer.alloc(0) }
    t.equal(await codeOf(() => iam.authenticate(request())), expected, name)
    t.equal(await codeOf(() => iam.authenticateForm(new Map())), expected, `${name}, form`)
    t.equal(await codeOf(() => iam.authenticateDocument(request(), document)), expected, `${name}, document`)
  }
})

t.test(
  'credentials that no provider recognizes are refused, and a request without credentials is anonymous',
  async t => {
    const iam = await start({ word: scheme('Word', () => principal('ada')) })
    const of = (headers: SignedRequest['headers'], query?: string) =>
      codeOf(() => iam.authenticate(request(headers, query)))
    t.equal(await of({ authorization: 'Word' }), 'served')
    t.equal(await of({ authorization: 'Bearer s3cret' }), 'InvalidArgument 400')
    t.equal(await of({ authorization: 'AWS a:b' }), 'InvalidRequest 400')
    t.equal(await of({}, 'AWSAccessKeyId=a&Expires=1&Signature=b'), 'InvalidRequest 400')
    t.equal(await codeOf(() => iam.authenticateForm(new Map([['awsaccesskeyid', 'a']]))), 'InvalidRequest 400')
    t.equal(await codeOf(() => iam.authenticateForm(new Map([['signature', 'a']]))), 'InvalidRequest 400')
    for (const answer of [
      await iam.authenticate(request()),
      await iam.authenticate(request({ authorization: '' }, 'prefix=AWSAccessKeyId')),
      await iam.authenticateForm(new Map([['key', 'a']])),
      await iam.authenticateDocument(request(), { service: 'sts', document: Buffer.alloc(0) }),
    ]) {
      t.match(answer, { identity: undefined, method: 'anonymous', payload: { kind: 'unsigned' } })
    }
  },
)

t.test('two mechanisms at once are refused before any provider is asked', async t => {
  const iam = await start({ word: scheme('Word', () => t.fail('was asked') as never) })
  for (const name of ['X-Amz-Signature', 'X-Amz-Algorithm', 'X-Amz-Credential']) {
    for (const query of [`${name}=a`, `a=b&${name}`, `${name}&a=b`]) {
      t.equal(await codeOf(() => iam.authenticate(request({ authorization: 'Word' }, query))), 'InvalidArgument 400')
    }
  }
  const other = await start({ word: scheme('Word', () => principal('ada')) })
  for (const query of ['prefix=X-Amz-Signature', 'X-Amz-Signatures=a', 'xX-Amz-Signature=a']) {
    t.equal(await codeOf(() => other.authenticate(request({ authorization: 'Word' }, query))), 'served', query)
  }
})

t.test('if credentials do not describe the body, its header does', async t => {
  const iam = await start({ word: scheme('Word', async () => principal('ada')) })
  const answer = await iam.authenticate(request({ authorization: 'Word', 'x-amz-content-sha256': 'ff' }))
  t.match(answer, { identity: { accessKey: 'ada' }, method: 'header', payload: { kind: 'sha256', hex: 'ff' } })
  t.equal(answer.createDecoder(), undefined)
})
