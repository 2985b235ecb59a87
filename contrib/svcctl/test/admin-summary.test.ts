/** The commands of `svcctl admin` that people use first, against the real server. */
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { temporaryFolder } from 'svc/testing'
import t from 'tap'
import { describeServer } from '../commands/admin-info.ts'
import { startServer } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer()
t.teardown(() => server.stop())
const session = createSession(temporaryFolder(t))
const { run } = session
const setAlias = (name: string, accessKey: string, secret: string) =>
  run(['--admin-url', server.adminUrl, 'alias', 'set', name, server.endpoint, accessKey], {
    env: { SVCCTL_SECRET_KEY: secret },
  })
await setAlias('home', 'admin', 'change-me-please')

t.test('admin info sums the server up in six facts, in lines of at most 80 characters', async t => {
  await run(['mb', 'home/summed'])
  await run(['cp', '-', 'home/summed/a'], { input: 'x'.repeat(2048) })
  const { code, stdout } = await run(['admin', 'info', 'home'])
  t.equal(code, 0)
  const lines = stdout.trimEnd().split('\n')
  t.same(
    lines.map(line => line.split(' ')[0]),
    ['Server', 'Nodes', 'Drives', 'Redundancy', 'Stored', 'Security'],
  )
  t.match(stdout, /^Drives +1 of 1 online, .* free$/m)
  t.match(stdout, /^Stored +1 bucket, 1 object, 2\.00 KiB$/m)
  const { records } = await run(['admin', 'info', 'home', '--json'])
  t.match(records, [{ buckets: 1, objects: 1, usage: 2048 }])
  t.equal((await run(['admin', 'info', 'gone'])).code, 3)

  const [info] = records as unknown as [Parameters<typeof describeServer>[0]]
  const [drive] = info.nodes[0]!.disks
  const broken = describeServer({
    ...info,
    pools: [
      {
        index: 0,
        drivesPerSet: 4,
        parity: 2,
        erasureSets: [{ index: 0, drives: 4, online: 3, healing: 0, state: 'degraded' }],
      },
    ],
    nodes: [{ endpoint: 'n', state: 'online', disks: [drive!, { ...drive!, path: '/mnt/d2', state: 'offline' }] }],
    kms: { configured: true, online: false, error: '' },
    tls: { enabled: true, certificates: [{ notAfter: '2030-02-03T00:00:00Z' }] },
  })
  const path = `/mnt/${'d'.repeat(100)}`
  const deep = describeServer({
    ...info,
    nodes: [{ endpoint: 'n', state: 'online', disks: [{ ...drive!, path, error: 'dull' }] }],
  })
  t.ok(deep.includes(`            ${path}:`), 'nothing is cut')
  t.equal(broken.length, 6)
  t.match(broken[2], /1 of 2 online.*, \/mnt\/d2: offline$/)
  t.match(broken[3], /pool 0 set 0 degraded \(3 of 4 drives\)$/)
  t.match(broken[5], /TLS on, certificate until 2030-02-03, key server unreachable$/)
  const redundancyOf = (leastParity?: number) => {
    const least = leastParity === undefined ? {} : { leastParity }
    const set = { index: 0, drives: 12, online: 12, healing: 0, ...least, state: 'ok' }
    return describeServer({
      ...info,
      pools: [
        {
          index: 0,
          drivesPerSet: 12,
          parity: 4,
          erasureSets: [set],
        },
      ],
    }).join(' ')
  }
  t.match(redundancyOf(1), /each set may lose 4 of its 12 drives\s+\(REDUCED_REDUNDANCY: 1\)/)
  t.match(redundancyOf(0), /each set may lose 4 of its 12 drives\s+\(REDUCED_REDUNDANCY: none\)/)
  for (const same of [4, undefined]) t.notMatch(redundancyOf(same), /REDUCED_REDUNDANCY/)
  const setsOf = (index: number) => ({
    index,
    drivesPerSet: 4,
    parity: 2,
    erasureSets: [{ index: 0, drives: 4, online: 4, healing: 0, state: 'ok' }],
  })
  const long = describeServer({ ...info, pools: [setsOf(0), setsOf(1)] })
  t.same(long.slice(3, 5), [
    'Redundancy  pool 0: each set may lose 2 of its 4 drives, pool 1: each set may',
    '            lose 2 of its 4 drives',
  ])
  t.ok([...lines, ...broken, ...long].every(line => line.length <= 80))
})

t.test('admin diagnose: one archive, nothing secret in it', async t => {
  const planted = 'planted-secret-of-a-broker'
  const set = 'admin config set home notify_webhook:diagnosed enable=on endpoint=http://127.0.0.1:1/'
  t.equal((await run([...set.split(' '), `auth_token=${planted}`])).code, 0)
  const tsig = Buffer.from('planted-key-of-a-name-server').toString('base64')
  const provider =
    'admin dns-provider add home main --type rfc2136 --nameserver 127.0.0.1:9 --tsig-key-name key --token-stdin'
  const added = await run(provider.split(' '), { input: `${tsig}\n` })
  t.equal(added.code, 0, added.stderr)
  const userSecret = 'planted-secret-of-gil'
  const gil = await run(['admin', 'user', 'add', 'home', 'gil', '--secret-key-stdin'], { input: userSecret })
  t.equal(gil.code, 0, gil.stderr)
  // Failures of requests that carry credentials reach the log, too.
  await fetch(`${server.endpoint}/none?X-Amz-Signature=planted-signature&token=planted-token`)
  server.kernel.log.error({ planted: 1 }, 'a drive smells of smoke')
  const { code, stdout } = await run(['admin', 'diagnose', 'home', '--output', 'report.zip'])
  t.equal(code, 0)
  t.match(stdout, /^Server +svc .*^Needs attention:\n- \d+ errors? in log\.jsonl$.*^Saved report\.zip\.$/ms)
  const path = join(session.folder, 'report.zip')
  t.equal(statSync(path).mode & 0o777, 0o600)
  execFileSync('unzip', ['-q', path, '-d', join(session.folder, 'report')])
  const files = readdirSync(join(session.folder, 'report')).sort()
  t.same(
    files,
    [
      'configuration.json',
      'health.json',
      'heal-jobs.json',
      'info.json',
      'kms.json',
      'locks.json',
      'log.jsonl',
      'notify-queues.json',
      'plugins.json',
      'summary.txt',
    ].sort(),
  )
  const read = (file: string) => readFileSync(join(session.folder, 'report', file), 'utf8')
  const all = files.map(read).join('')
  t.match(read('configuration.json'), /diagnosed/)
  t.match(read('log.jsonl'), /a drive smells of smoke/)
  t.match(JSON.parse(read('health.json')), { '/svc/health/ready': { status: 200 } })
  const secrets = [planted, 'change-me-please', Buffer.alloc(32, 7).toString('base64'), tsig, userSecret]
  for (const text of [...secrets, 'planted-signature', 'planted-token', 'planted-key-of-a-name-server']) {
    for (const encoding of ['utf8', 'base64', 'hex'] as const) {
      // Of base64 the middle, which is the same wherever the text begins.
      const form =
        encoding === 'base64' ? Buffer.from(text).toString(encoding).slice(0, -4) : Buffer.from(text).toString(encoding)
      t.notOk(all.includes(form), `no secret: ${text.slice(0, 12)}… as ${encoding}`)
    }
  }

  const secret = 'a-secret-of-a-user'
  t.equal((await run(['admin', 'user', 'add', 'home', 'few', '--secret-key-stdin'], { input: secret })).code, 0)
  await setAlias('few', 'few', secret)
  const refused = await run(['admin', 'diagnose', 'few', '--output', 'none.zip'])
  t.equal(refused.code, 4)
  t.notOk(existsSync(join(session.folder, 'none.zip')))
})

t.test('admin user add asks for the secret key, and where it cannot ask it says what to do', async t => {
  const add = (name: string, ...more: string[]) => ['admin', 'user', 'add', 'home', name, '--json', ...more]
  const secret = 'a-secret-of-her-own'
  const asked = await run(add('ada', '--policy-name', 'readonly'), { isAnswered: true, input: `${secret}\r` })
  t.equal(asked.code, 0, asked.stderr)
  t.match(asked.stderr, /^Secret key \(empty: the server makes one\): /)
  t.notMatch(asked.stdout + asked.stderr, secret)
  t.match(asked.records, [{ accessKey: 'ada', policyNames: ['readonly'] }])
  t.equal((await setAlias('ada', 'ada', secret)).code, 0, 'the secret is the one that was typed')

  const made = { isAnswered: true, input: '\r' }
  for (const [args, options] of [
    [add('bob'), made],
    [add('cyd', '--generate'), { ...made, env: { SVCCTL_NEW_SECRET_KEY: secret } }],
    [add('dan', '--generate')],
  ] as const) {
    const { code, records, stderr } = await run(args, options)
    t.equal(code, 0, stderr)
    const [{ accessKey, secretKey }] = records as [{ accessKey: string; secretKey: string }]
    t.equal((await setAlias('other', accessKey, secretKey)).code, 0, `${accessKey} has the secret that was shown`)
  }
  for (const input of [undefined, `${secret}\n`]) {
    const { code, error } = await run(add('eve'), { input })
    t.equal(code, 2)
    t.match(error, { message: /no terminal to ask for the secret key: add --secret-key-stdin .*, or --generate/ })
  }
  const piped = await run(add('eve', '--secret-key-stdin'), { input: `${secret}\n` })
  t.equal(piped.code, 0, piped.stderr)
  t.notOk('secretKey' in piped.records[0]!)
  t.equal((await run(add('fay', '--secret-key-stdin', '--generate'), { input: 'x' })).code, 2)
  t.equal((await run(add('fay', 'secret-as-argument'))).code, 2)
  t.match((await run(add('ada', '--generate'))).error, { exitCode: 5 })
})
