/** Access rules as people use them: set with svcctl, seen by curl and the AWS command line, in force at once on every thread. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { createAdminClient } from './admin.ts'
import { requireProgram, run } from './clients.ts'
import { accessKey, dryRunWith, secretKey, startServer, type TestServer } from './server.ts'

const aws = requireProgram('aws')
const curl = requireProgram('curl')
const skip = aws.skip || curl.skip

function clientsOf(t: Test, server: TestServer) {
  const call = async (program: string, args: readonly string[], options: Parameters<typeof run>[3] = {}) => {
    const outcome = await run(program, [...args], server, options)
    t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
    return outcome.stdout
  }
  const s3 = (...args: string[]) => call(aws.path, ['--endpoint-url', server.endpoint, '--output', 'json', ...args])
  const ctl = async (args: readonly string[], input?: string) => {
    const outcome = await run(process.execPath, [svcctlProgram, ...args], server, { input })
    return { ...outcome, said: `${outcome.code} ${outcome.stdout}${outcome.stderr}` }
  }
  /** Each over a connection of its own, so that they come to every worker. */
  const statuses = async (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const args = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
    const all = Array.from({ length: 6 }, () =>
      call(curl.path, ['-s', '-o', '/dev/null', '-w', '%{http_code}', ...args, `${server.endpoint}${path}`]),
    )
    return [...new Set(await Promise.all(all))].join(' ')
  }
  return { s3, ctl, statuses }
}

for (const workers of ['0', '2']) {
  t.test(`rules, presets, tests and blocks, with SVC_WORKERS=${workers}`, { skip }, async t => {
    const server = await startServer({ environment: { SVC_WORKERS: workers } })
    t.teardown(() => server.remove())
    const { s3, ctl, statuses } = clientsOf(t, server)
    const admin = createAdminClient(server)
    const ada = await admin.createUser('ada', { policyNames: [] })
    const console = `http://${String(server.startup.console)}`
    const set = ['--admin-url', console, 'alias', 'set', 'home', server.endpoint, accessKey]
    t.equal(
      (await run(process.execPath, [svcctlProgram, ...set, '--secret-key-stdin'], server, { input: secretKey })).code,
      0,
    )
    await s3('s3api', 'create-bucket', '--bucket', 'photos')
    for (const key of ['public/a', 'secret/b', 'home/ada/c'])
      await s3('s3api', 'put-object', '--bucket', 'photos', '--key', key)

    t.equal(await statuses('/photos/public/a'), '403')
    const rules = [
      {
        id: 'public',
        priority: 10,
        effect: 'allow',
        principals: ['*'],
        actions: ['read', 'list'],
        match: { type: 'glob', pattern: 'public/**' },
      },
      {
        id: 'hotlink',
        priority: 5,
        effect: 'deny',
        principals: ['*'],
        actions: ['read'],
        conditions: { referer: ['https://evil.example/*'] },
      },
      {
        id: 'own-home',
        effect: 'allow',
        principals: ['ada'],
        actions: ['read'],
        match: { type: 'regex', pattern: '^home/(?P<who>[^/]+)/' },
        conditions: { captureEquals: { who: `\${aws:username}` } },
      },
    ]
    const stored = await ctl(['access', 'set', 'home/photos', '-'], JSON.stringify(rules))
    t.match(stored.said, /^0 photos has 3 access rules; ETag [0-9a-f]{32}\./)
    t.match(
      stored.stderr,
      '"public" lets every client read and list objects whose keys match the glob "public/**" without credentials.',
    )
    t.equal(await statuses('/photos/public/a'), '200')
    t.equal(await statuses('/photos/public/a', { Referer: 'https://evil.example/page' }), '403')
    t.equal(await statuses('/photos/secret/b'), '403')
    t.equal(await statuses('/photos?list-type=2&prefix=public/'), '200')
    t.equal(await statuses('/photos?list-type=2'), '403')
    const keys = { AWS_ACCESS_KEY_ID: ada.accessKeyId, AWS_SECRET_ACCESS_KEY: ada.secretAccessKey }
    const presign = async (key: string) => {
      const args = ['--endpoint-url', server.endpoint, 's3', 'presign', `s3://photos/${key}`]
      return new URL((await run(aws.path, args, server, { environment: keys })).stdout.trim())
    }
    const [own, foreign] = [await presign('home/ada/c'), await presign('secret/b')]
    t.equal(await statuses(`${own.pathname}${own.search}`), '200', 'presigned by who may')
    t.equal(await statuses(`${foreign.pathname}${foreign.search}`), '403')
    const deniedOnes = async () =>
      (await admin.call('GET', '/audit?bucket=photos&limit=100')).items.filter(
        (one: { tags: { accessRule?: string } }) => one.tags.accessRule === 'hotlink',
      )
    // A record is written when its connection is over: perhaps a little later than the answer is read.
    let denied = await deniedOnes()
    for (let tries = 0; tries < 900 && denied.length < 6; tries++) {
      await new Promise(done => setTimeout(done, 100))
      denied = await deniedOnes()
    }
    t.equal(denied.length, 6, 'the audit records name the rule')

    const wrong = join(server.folder, 'wrong.json')
    writeFileSync(wrong, JSON.stringify({ rules: [{ ...rules[2], match: { type: 'regex', pattern: 'home(?=x)' } }] }))
    const refused = await ctl(['access', 'set', 'home/photos', wrong])
    t.match(refused.said, /^1 [\s\S]*own-home[\s\S]*match\.pattern[\s\S]*character 5/)
    const conflict = await ctl(['access', 'set', 'home/photos', '-', '--if-match', '0'.repeat(32)], '[]')
    t.equal(conflict.code, 5)

    const tested = await ctl(['access', 'test', 'home/photos', 'public/a', 'secret/b'])
    t.match(tested.stdout, /^allowed {2}s3:GetObject public\/a: The access rule "public" allows it\.$/m)
    t.match(tested.stdout, /^denied {3}s3:GetObject secret\/b: No .*\.$/m)
    t.match(tested.stdout, /^ {2}5 {2}deny hotlink: does not match: referer$/m)

    t.match(
      (await ctl(['access', 'block-public', 'home/photos', 'on'])).said,
      'Public access to photos is blocked by its own block.',
    )
    t.equal(await statuses('/photos/public/a'), '403')
    t.equal(await statuses(`${own.pathname}${own.search}`), '200', 'named callers keep what they have')
    const flags = JSON.parse(await s3('s3api', 'get-public-access-block', '--bucket', 'photos'))
    t.ok(Object.values(flags.PublicAccessBlockConfiguration).every(flag => flag === true))
    await s3('s3api', 'delete-public-access-block', '--bucket', 'photos')
    t.equal(await statuses('/photos/public/a'), '200')
    t.equal((await ctl(['access', 'block-public', 'home', 'on'])).code, 0)
    t.equal(await statuses('/photos/public/a'), '403')
    const blocked = await ctl(['access', 'preset', 'home/photos', 'public-read'])
    t.match(blocked.said, /^4 [\s\S]*The whole server blocks public access [\s\S]*, and the rule "public"/)
    t.match((await ctl(['access', 'block-public', 'home', 'on', '--mode', 'ignore'])).said, 'the mode is ignore')
    t.equal((await ctl(['access', 'preset', 'home/photos', 'public-read'])).code, 0)
    t.equal(await statuses('/photos/secret/b'), '403')
    await ctl(['access', 'block-public', 'home', 'off'])
    t.equal(await statuses('/photos/secret/b'), '200')
    t.equal((await ctl(['access', 'preset', 'home/photos', 'private'])).code, 0)
    t.equal(await statuses('/photos/public/a'), '403')
    t.match((await ctl(['access', 'simple', 'home/photos/public/', 'download'])).said, /^0 download {2}public\/\n/)
    t.equal(await statuses('/photos/public/a'), '200')
    t.match((await ctl(['access', 'simple', 'home/photos', 'remove'])).said, /^0 Nothing is open/)
    t.equal(await statuses('/photos/public/a'), '403')
    const left = JSON.parse((await ctl(['access', 'get', 'home/photos'])).stdout)
    t.same(
      left.rules.map(({ id }: { id: string }) => id),
      ['hotlink', 'own-home'],
    )

    const disabled = { SVC_PLUGINS: '["svc/plugins/standard",{"disable":["access-rules"]}]' }
    t.equal(await server.stop(), 0)
    t.match(
      dryRunWith(disabled, server.drive),
      /^1 [\s\S]*The plugin "access-rules" is not loaded, but stored data needs it: the bucket "photos" has access rules/,
    )
  })
}
