/** `svcctl admin`: a command for each operation that is served, and a good part of them against the real server. */
import { hash, randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GetObjectTaggingCommand } from '@aws-sdk/client-s3'
import { definePlugin } from 'svc/kernel'
import 'svc/plugins/kms/api'
import 'svc/plugins/settings/api'
import { temporaryFolder } from 'svc/testing'
import t, { type Test } from 'tap'
import { Type } from 'typebox'
import { createEventParser } from '../admin/events.ts'
import { createAdminCommands } from '../admin/index.ts'
import { commandName, servedElsewhere, wholeName } from '../admin/naming.ts'
import { listOperations, type Operation } from '../admin/operations.ts'
import { listCommands } from '../commands/index.ts'
import { createClient } from '../s3/client.ts'
import { headObject } from '../s3/object.ts'
import { copyOnServer } from '../transfer/server-copy.ts'
import { startServer, type TestServerOptions } from './server.ts'
import { createSession } from './session.ts'

const server = await startServer({
  derivesStoreKey: true,
  config: {
    kms: { secretKey: `test:${Buffer.alloc(32, 9).toString('base64')}` },
    // So that keys of clients may come without TLS.
    encryption: { allowsInsecureCustomerKeys: true },
  },
})
t.teardown(() => server.stop())
const { run, folder, configFolder } = createSession(temporaryFolder(t))
const { endpoint, adminUrl } = server
const setAlias = (name: string, accessKey: string, secret: string) =>
  run(['--admin-url', adminUrl, 'alias', 'set', name, endpoint, accessKey], { env: { SVCCTL_SECRET_KEY: secret } })
await setAlias('home', 'admin', 'change-me-please')

type Options = Parameters<typeof run>[1]
const words = (line: string) => line.split(' ')
const admin = async (t: Test, line: string, options?: Options) => {
  const outcome = await run(['admin', ...words(line)], options)
  t.equal(outcome.code, 0, line, { stderr: outcome.stderr })
  return outcome
}
const json = async (t: Test, line: string, options?: Options) =>
  (await admin(t, `${line} --json`, options)).records as Record<string, never>[]
const fails = async (t: Test, code: number, pattern: RegExp, line: string, options?: Options) => {
  const outcome = await run(['admin', ...words(line)], options)
  t.equal(outcome.code, code, `${line} exits with ${code}`, { stderr: outcome.stderr })
  t.match(outcome.stderr, pattern)
  return outcome
}
const tagsOf = async (Bucket: string, Key: string) =>
  (await server.s3.send(new GetObjectTaggingCommand({ Bucket, Key }))).TagSet
const file = (name: string, content: unknown): string => {
  writeFileSync(join(folder, name), typeof content === 'string' ? content : JSON.stringify(content))
  return name
}

t.test('each operation that is served is a command, or another command does it', async t => {
  const operations = listOperations()
  t.ok(operations.length > 80, `${operations.length} operations`)
  const names = (await listCommands()).map(({ name }) => name)
  t.same(names, [...new Set(names)], 'each name is there once')
  for (const operation of operations) {
    const elsewhere = servedElsewhere(operation)
    if (elsewhere === undefined) t.ok(names.includes(wholeName(commandName(operation))), operation.id)
    else t.ok(operation.isOfSessions || names.includes(elsewhere), `${operation.id}: ${elsewhere}`)
  }
  const globals = new Set([
    '--json',
    '--quiet',
    '--color',
    '--insecure',
    '--ca',
    '--timeout',
    '--debug',
    '--yes',
    '--help',
  ])
  for (const { name, options, examples, summary } of createAdminCommands()) {
    for (const { flags } of options)
      t.notOk(globals.has(flags.split(' ')[0]!), `${name} ${flags} hides no other option`)
    t.match(summary, /^[A-Z].*\.$/, `${name} is summed up in a sentence`)
    t.ok(examples[0].startsWith(`svcctl ${name} home`), examples[0])
  }
})

t.test('help works without aliases and without a server', async t => {
  const nowhere = { env: { SVCCTL_CONFIG_DIR: join(folder, 'nowhere') } }
  for (const { name, examples } of createAdminCommands()) {
    const { code, stdout } = await run([...words(name), '--help'], nowhere)
    t.equal(code, 0, name)
    t.match(stdout.replace(/\s+/g, ' '), examples[0])
  }
  t.match((await admin(t, '--help', nowhere)).stdout, /policy +action, attach/)
  t.match((await admin(t, 'user create --help', nowhere)).stdout.replace(/\s+/g, ' '), /Needs admin:CreateUser\./)
  t.notMatch((await admin(t, 'user create --help', nowhere)).stdout, /--secret-key </)
  const helpOf = async (name: string) => (await admin(t, `${name} --help`, nowhere)).stdout.replace(/\s+/g, ' ')
  t.match(await helpOf('object zip'), 'The file for objects holds [{"key": "…", "versionId"?: "…"}, …].')
  t.match(
    await helpOf('bucket lifecycle put'),
    '"enabled": true|false, "filter"?: {"prefix"?: "…", "tags"?: {"NAME": "…", …}',
  )
  t.match(await helpOf('bucket policy put'), '"Effect": "Allow"|"Deny"')
  t.match(await helpOf('bucket quota set'), '<target> <size>')
  t.match(await helpOf('bucket quota set'), 'such as 10GiB; 0: no quota')
  await fails(t, 2, /too many arguments.*\nUsage: svcctl admin usage \[options\] <alias>\n/, 'usage home away', nowhere)
})

t.test('names that are taken give way, and streams of bytes are left to cp', t => {
  const made = (id: string, method: string, path: string, more: Partial<Operation> = {}): Operation => ({
    id,
    method,
    path,
    description: 'Does it.',
    actions: [],
    isOfSessions: false,
    pathParameters: [],
    query: [],
    takesIfMatch: false,
    body: undefined,
    isBodyRequired: false,
    bodyTypes: [],
    response: undefined,
    answerTypes: [],
    ...more,
  })
  const commands = createAdminCommands([
    made('getTea', 'GET', '/tea'),
    made('getTeaSubsystem', 'GET', '/tea/{subsys}'),
    made('uploadThing', 'POST', '/things/upload', { bodyTypes: ['*/*'] }),
    made('exportThings', 'GET', '/things/export', { answerTypes: ['application/zip'] }),
  ])
  t.same(
    commands.map(({ name }) => name),
    ['admin get-tea-subsystem', 'admin tea get', 'admin things export'],
  )
  t.match(commands[2]!.options, [{ flags: '-o, --output <file>' }])
  t.end()
})

t.test('users, groups, keys and their secrets', async t => {
  const [ada] = await json(t, 'user create home ada --policy-name readonly --description first')
  t.match(ada, { accessKey: 'ada', policyNames: ['readonly'], secretKey: /^.{20,}$/ })
  const told = await admin(t, 'user create home eve')
  t.match(told.stdout, /secretKey: +\S{20,}/)
  t.match(told.stderr, /not shown again/)

  const fromFile = file('secret.txt', 'secret-of-bob\n')
  t.notMatch((await admin(t, `user create home bob --secret-key-file ${fromFile}`)).stdout, /secret-of-bob/)
  await admin(t, 'user create home cyd --secret-key-stdin', { input: 'secret-of-cyd\n' })
  await admin(t, 'user create home dan', { env: { SVCCTL_NEW_SECRET_KEY: 'secret-of-dan' } })
  for (const name of ['bob', 'cyd', 'dan']) {
    t.match(await setAlias(name, name, `secret-of-${name}`), { code: 0 }, `${name} can sign`)
  }
  const refused = await fails(t, 2, /read the command line/, 'user create home fox --secret-key secret-of-fox')
  t.notMatch(refused.stderr + refused.stdout, /secret-of-fox/, 'it is not even repeated')
  const short = await fails(t, 1, /The secret key must have at least/, 'user create home fox --secret-key-stdin', {
    input: 'short!!',
  })
  t.notMatch(short.stderr, /short!!/)
  await fails(t, 1, /: ACCESS-KEY must have at least/, 'user create home ab')
  await fails(t, 1, /: --user or --group must be given/, 'policy attach home readonly --user ada --group all')
  await fails(t, 1, /: --prefix needs a bucket/, 'permissions home --prefix a')
  await fails(t, 3, /There is no user "nobody"/, 'user get home nobody')
  await fails(t, 3, /There is no policy "none"/, 'policy attach home readonly none --user ada')
  await fails(t, 3, /There is no group "none"/, 'group get home none')
  await fails(t, 3, /There is no subsystem "none"/, 'config get home none')
  const debugged = await admin(t, 'user secret-key set home dan --secret-key-stdin --debug', {
    input: 'other-secret\n',
  })
  t.match(debugged.stderr, /setUserSecretKey: PUT \/api\/v1\/users\/dan\/secret-key 200/)
  t.notMatch(debugged.stderr + debugged.stdout, /other-secret/)

  t.same(
    (await json(t, 'user list home')).map(({ accessKey }) => accessKey),
    ['ada', 'bob', 'cyd', 'dan', 'eve'],
  )
  t.same((await json(t, 'user list home --limit 2')).length, 2)
  t.match((await admin(t, 'user list home')).stdout, /^ACCESS KEY +STATUS .*\nada +enabled/)
  t.match(await json(t, 'user update home ada --status disabled --description none'), [
    { status: 'disabled', description: '' },
  ])
  await admin(t, 'user update home ada --status ENABLED')

  await admin(t, 'group create home staff --member ada --member bob')
  t.match(await json(t, 'group member add home staff cyd dan'), [{ members: ['ada', 'bob', 'cyd', 'dan'] }])
  await admin(t, 'group member remove home staff dan --yes')
  t.match(await json(t, 'user group set home cyd --none'), [{ groups: [] }])
  await fails(t, 2, /Name at least one group, or use --none/, 'user group set home cyd')
  await fails(t, 5, /not_empty|members/, 'group delete home staff --yes')

  const [key] = await json(t, 'key create home --user ada --name laptop --expires-at 30d')
  t.ok(Date.parse(key!.expiresAt) > Date.now() + 29 * 86_400_000)
  t.match(await json(t, 'key list home --user ada'), [{ accessKey: key!.accessKey, name: 'laptop' }])
  t.match(await json(t, `key update home ${key!.accessKey} --expires-at none`), [{ expiresAt: null }])
  await fails(t, 2, /no terminal to answer at: add --yes/, `key rotate home ${key!.accessKey}`)
  t.match(await json(t, `key rotate home ${key!.accessKey} --yes`), [{ secretKey: /^.{20,}$/ }])
  await fails(t, 2, /Delete user eve\? .*add --yes/, 'user delete home eve')
  t.equal((await admin(t, 'user delete home eve --yes')).stdout, 'Delete user eve: done.\n')
  await fails(t, 3, /user_not_found, request \w+/, 'user get home eve')
})

t.test('policies come from files and pipes, and errors name their place', async t => {
  const document = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 's3:*', Resource: 'arn:aws:s3:::*' }],
  }
  const put = await admin(t, `policy put home everything ${file('policy.json', document)}`)
  t.equal(put.stdout, 'Put policy everything: done.\n', 'what was given is not shown again')
  t.match(await json(t, 'policy put home everything policy.json'), [{ name: 'everything', document }])
  const [stored] = await json(t, 'policy get home everything')
  t.same(stored!.document, document)
  await admin(t, 'policy put home everything -', { input: JSON.stringify(stored) })
  await fails(t, 5, /precondition_failed/, 'policy put home everything policy.json --if-match 00')
  await admin(t, `policy put home everything @policy.json --if-match ${stored!.etag}`)
  const wrong = JSON.stringify(document).replace('Allow', 'Alow').replace('s3:*', 's4:*')
  await fails(
    t,
    1,
    /malformed_policy.*line 1, column \d+, statement 0, Effect: .*; line 1, .*Action/,
    'policy put home x -',
    {
      input: wrong,
    },
  )
  await fails(t, 1, /malformed_policy/, 'policy put home x -', { input: '{' })
  t.match(await json(t, 'policy validate home -', { input: wrong }), [{ valid: false }])
  t.match(await json(t, 'policy attach home everything --user bob'), [{ policyNames: ['everything'] }])
  await fails(t, 1, /user/, 'policy attach home everything')
  t.match(await json(t, 'policy simulate home s3:PutObject --user bob --bucket photos --object a'), [{ allowed: true }])
  t.match(await json(t, 'policy simulate home s3:ListBucket --user bob --bucket photos --conditions s3:prefix=a'), [
    { allowed: true },
  ])
  t.match(await json(t, 'policy detach home everything --user bob'), [{ policyNames: [] }])
  await admin(t, 'policy delete home everything -y')
  t.match((await admin(t, 'policy list home')).stdout, /NAME +BUILT IN +USERS[\s\S]*readonly +yes/)
  await fails(t, 4, /access_denied/, 'policy list bob')
})

t.test('buckets and their settings', async t => {
  await admin(t, 'bucket create home/photos --versioning')
  await fails(t, 5, /already_exists/, 'bucket create home/photos')
  await fails(t, 2, /a bucket is missing, write home\/bucket/, 'bucket quota get home')
  await fails(t, 2, /name the alias alone/, 'bucket list home/photos')
  t.match(await json(t, 'bucket quota set home/photos 10GiB'), [{ type: 'hard', size: 10 * 1024 ** 3 }])
  t.match((await admin(t, 'bucket quota get home/photos')).stdout, /size: 10.0 GiB \(10737418240\)/)
  t.match(await json(t, 'bucket quota set home/photos 0'), [{ type: '', size: 0 }])
  await fails(t, 2, /SIZE: "much"/, 'bucket quota set home/photos much')
  t.match(await json(t, 'bucket versioning set home/photos suspended'), [{ status: 'suspended' }])
  await fails(t, 2, /none of off, enabled, suspended/, 'bucket versioning set home/photos maybe')
  t.match(await json(t, 'bucket tags set home/photos project=apollo stage=1'), [
    { tags: { project: 'apollo', stage: '1' } },
  ])
  await fails(t, 2, /NAME=VALUE/, 'bucket tags set home/photos project')
  t.match(await json(t, 'bucket tags set home/photos --none'), [{ tags: {} }])

  const rules = [{ enabled: true, filter: { prefix: 'tmp/' }, expiration: { days: 7 } }]
  const put = await admin(t, `bucket lifecycle put home/photos ${file('rules.json', rules)}`)
  t.equal(put.stdout, 'Put bucket lifecycle home/photos: done.\n')
  const shown = await admin(t, 'bucket lifecycle get home/photos')
  t.match(JSON.parse(shown.stdout), { rules }, 'is shown as the file that it came from')
  await admin(t, 'bucket lifecycle put home/photos -', { input: shown.stdout })
  await fails(t, 1, /exactly one of Days.*; rule 0/, 'bucket lifecycle put home/photos -', {
    input: JSON.stringify([{ enabled: true, expiration: { days: 7, date: '2030-01-01T00:00:00Z' } }]),
  })
  // New rules are applied at once, and not twice at a time.
  for (let attempt = 1; ; attempt++) {
    const { code, stdout, stderr } = await run(['admin', 'bucket', 'lifecycle', 'run', 'home/photos'])
    if (code === 0) {
      t.match(stdout, /buckets: +1/)
      break
    }
    if (attempt === 50 || code !== 5) throw new Error(stderr)
    await sleep(100)
  }
  await admin(t, 'bucket cors put home/photos -', {
    input: JSON.stringify([{ allowedOrigins: ['*'], allowedMethods: ['GET'], allowedHeaders: [], exposeHeaders: [] }]),
  })
  const cors = await admin(t, 'bucket cors get home/photos')
  const etag = /--if-match: (\w+)/.exec(cors.stderr)![1]
  await fails(t, 5, /precondition_failed/, 'bucket cors put home/photos - --if-match 0', { input: cors.stdout })
  await admin(t, `bucket cors put home/photos - --if-match ${etag}`, { input: cors.stdout })
  await fails(t, 1, /destination.*; rule [\w-]+/, 'bucket events put home/photos -', {
    input: JSON.stringify([{ arn: 'arn:none', events: ['s3:ObjectCreated:*'] }]),
  })
  t.match(await json(t, 'bucket events get home/photos'), [{ subscriptions: [] }])
  const policy = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Principal: '*', Action: 's3:GetObject', Resource: 'arn:aws:s3:::photos/*' }],
  }
  await admin(t, `bucket policy put home/photos ${file('bucket-policy.json', policy)}`)
  t.match(JSON.parse((await admin(t, 'bucket policy get home/photos')).stdout), policy)
  const wrong = `{"Version": "2012-10-17",\n\n\n"Statement": [\n${JSON.stringify({ ...policy.Statement[0], Action: 's3:Fly' })}]}`
  await fails(t, 1, /s3:Fly.*; line 5, column 44, statement 0, Action\n/, 'bucket policy put home/photos -', {
    input: wrong,
  })
  const both = await fails(t, 1, /line 5, column 44.*; line 5, column 64, /, 'bucket policy put home/photos -', {
    input: wrong.replace('photos/*', 'other/*'),
  })
  t.notMatch(both.stderr, /line [^5]/, 'no place is of another text than the file')
  await admin(t, 'bucket policy delete home/photos --yes')
  t.match(await json(t, 'bucket access set home/photos/public/ download'), [
    { rules: [{ prefix: 'public/', preset: 'download' }] },
  ])

  await admin(t, 'bucket create home/kept --object-lock')
  t.match(await json(t, 'bucket lock set home/kept on --mode governance --days 3'), [{ mode: 'GOVERNANCE', days: 3 }])
  t.match(await run(['cp', join(folder, 'rules.json'), 'home/kept/a b/ü.json']), { code: 0 })
  const run4 = (...args: string[]) => run(['admin', ...args, '--json'])
  t.match((await run4('object', 'stat', 'home/kept/a b/ü.json')).records, [{ key: 'a b/ü.json' }])
  t.match((await run4('object', 'legal-hold', 'set', 'home/kept/a b/ü.json', 'on')).records, [{ enabled: true }])
  t.match((await run4('object', 'tags', 'set', 'home/kept/a b/ü.json', 'x=1')).records, [{ tags: { x: '1' } }])
  t.match((await run4('object', 'retention', 'get', 'home/kept/a b/ü.json')).records, [{ mode: 'GOVERNANCE' }])
  t.match((await run4('object', 'version', 'list', 'home/kept/a b/ü.json')).records, [{ isLatest: true }])
  await fails(t, 3, /object_not_found/, 'object stat home/kept/none')
  t.same(
    (await json(t, 'bucket list home')).map(({ name }) => name),
    ['kept', 'photos'],
  )
  await admin(t, 'bucket delete home/photos --force --yes')
})

t.test('the server: state, usage, plugins, audit and trace', async t => {
  t.match((await admin(t, 'server info home')).stdout, /mode: +snsd[\s\S]*\n {2}- endpoint:/)
  t.match(await json(t, 'usage home'), [{ bucketsCount: 1 }])
  t.ok((await json(t, 'plugin list home')).some(({ name }) => name === 'users'))
  t.match((await admin(t, 'permissions home --bucket kept')).stdout, /isRoot: +yes/)
  t.match(await json(t, 'audit home --user bob --errors --limit 1'), [{ api: 'listPolicies', status: 403 }])
  await run(['cat', 'home/kept/a b/ü.json'])
  const audited = async () => (await admin(t, 'audit home --bucket kept --limit 5')).stdout
  // A record is written when its connection is over: perhaps a little later than the answer is read.
  let audit = await audited()
  for (let tries = 0; tries < 900 && !audit.includes('ü.json'); tries++) {
    await sleep(100)
    audit = await audited()
  }
  t.match(audit, /OBJECT[\s\S]* kept +a b\/ü\.json /)
  await fails(t, 1, /not_implemented|501/, 'heal start home')
  const traced = run(['admin', 'trace', 'home', '--api', 'ListBuckets', '--count', '2', '--json'])
  const timer = setInterval(() => run(['ls', 'home']), 100)
  t.match((await traced).records, [{ operation: 'ListBuckets' }, { operation: 'ListBuckets', status: 200 }])
  clearInterval(timer)
  const logged = await run(['admin', 'logs', 'home', '--component', 'audit', '--last', '2', '--count', '2'])
  t.match(logged, { code: 0, stdout: /^\S+Z {2}info {2}audit {2}audit {2}.*api=\w+[^\n]*\n.*\n$/ })
  const short = await run(['admin', 'logs', 'home', '--component', 'none', '--timeout', '50ms'])
  t.match(short, { code: 0, stdout: '', stderr: '' }, 'it is followed for so long')
  const interruption = new AbortController()
  const watched = run(['admin', 'trace', 'home'], { signal: interruption.signal })
  setTimeout(() => interruption.abort(), 300)
  t.match(await watched, { code: 130, stderr: '' }, 'nothing is said of transfers')
})

t.test('settings are shown, set, reset, and go to a file and back', async t => {
  t.match((await admin(t, 'config list home')).stdout, /region/)
  await admin(t, 'config set home api requests_max=100 requests_deadline=5s')
  const [shown] = await json(t, 'config get home api')
  t.match(shown, { name: 'api', settings: { requests_max: '100', requests_deadline: '5s', root_access: 'on' } })
  t.match((await admin(t, 'config set home region comment=here')).stderr, /without effect until a restart.*: comment\./)
  await fails(t, 1, /api\.requests_max must be an integer/, 'config set home api requests_max=many')
  await fails(t, 3, /no subsystem "nothing"/, 'config get home nothing')
  await admin(t, 'config export home --format text -o settings.txt')
  const text = readFileSync(join(folder, 'settings.txt'), 'utf8')
  t.equal(text, 'api requests_deadline=5s\napi requests_max=100\nregion comment=here\n')
  await admin(t, 'config reset home api --keys requests_max --yes')
  t.match(await json(t, 'config get home api'), [{ settings: { requests_max: '0', requests_deadline: '5s' } }])
  const [would] = await json(t, 'config import home settings.txt --dry-run')
  t.match(would, { dryRun: true, configSubsystems: 2 }, 'what it would do, without being asked')
  t.match(await json(t, 'config get home api'), [{ settings: { requests_max: '0', requests_deadline: '5s' } }])
  await fails(t, 2, /--yes/, 'config import home settings.txt')
  const [imported] = await json(
    t,
    `config import home ${file('more.txt', `${text}api root_access=on # as it is\n`)} --yes`,
  )
  t.match(imported, { mode: 'merge', configSubsystems: 2 })
  t.match(await json(t, 'config get home api'), [{ settings: { requests_max: '100' } }])
  await fails(t, 1, /line 1/, `config import home ${file('wrong.txt', 'api requests_max')} --yes`)
  const map = { api: { requests_max: '7' } }
  await admin(t, `config import home ${file('map.json', map)} --mode replace --dry-run --yes`)
  await admin(t, `config replace home ${file('map.json', map)} --yes`)
  t.match(await json(t, 'config get home region'), [{ settings: { comment: '' } }])
  await admin(t, 'config export home -o settings.json')
  t.same(JSON.parse(readFileSync(join(folder, 'settings.json'), 'utf8')), map)
  t.match((await admin(t, 'config schema home')).stdout, /scanner/)
  await admin(t, 'config reset home api --yes')
})

t.test('settings whose plugin is not loaded are named, with the plugin', async t => {
  const drive = temporaryFolder(t)
  const storage = { storage: { endpoints: [drive] } }
  const probe = (name: string) =>
    definePlugin({
      name: 'probe',
      requires: ['settings'],
      setup({ services }) {
        const keys = Type.Object({ word: Type.String({ default: '', description: 'A word.' }) })
        services.settings.declare(name, { description: 'A subsystem of a plugin.', keys })
      },
    })
  const first = await startServer({ derivesStoreKey: true, config: storage, plugins: [probe('notify_kafka')] })
  const set = await first.sendToAdmin({
    method: 'PATCH',
    path: '/api/v1/config/notify_kafka',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ settings: { word: 'x' } }),
  })
  t.equal(set.status, 200)
  await first.stop()
  const second = await startServer({ derivesStoreKey: true, config: storage })
  t.teardown(() => second.stop())
  const warning = /the plugin of these settings is not loaded: load the plugin "svc-plugin-kafka"/i
  t.match(
    second.kernel.logs.filter(({ msg }) => warning.test(String(msg))),
    [{ subsystem: 'notify_kafka' }],
  )
  const env = { SVCCTL_SECRET_KEY: 'change-me-please' }
  await run(['--admin-url', second.adminUrl, 'alias', 'set', 'other', second.endpoint, 'admin'], { env })
  t.match((await admin(t, 'config list other')).stderr, warning)
  t.match((await admin(t, 'config get other notify_kafka')).stdout.replace(/\s+/g, ' '), warning)
  t.notMatch((await admin(t, 'config list home')).stderr, warning)
})

t.test('targets of events: a test that fails, rules that cannot be, dead letters and queues', async t => {
  const answers = { status: 422 }
  const receiver = createServer((request, answer) => {
    request.resume()
    answer.writeHead(answers.status).end()
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  t.teardown(() => receiver.close())
  const { port } = receiver.address() as AddressInfo
  await admin(t, `config set home notify_webhook endpoint=http://127.0.0.1:${port}/ enable=on`)
  const refused = await fails(
    t,
    1,
    /It was not delivered: .*refuses the document with 422/,
    'notify test home webhook:_',
  )
  t.match(refused.stdout, /delivered: +no/)
  const quiet = await run(['admin', 'notify', 'test', 'home', 'webhook:_', '--json'])
  t.match(quiet, { code: 1, records: [{ delivered: false }], error: { code: 'not_done' } })

  await admin(t, 'bucket create home/watched')
  const arn = 'arn:svc:sqs:us-east-1:_:webhook'
  const rules = (events: readonly string[]) => file('rules.json', { subscriptions: [{ id: 'mine', arn, events }] })
  const unreachable = await fails(t, 1, /rule mine/, `bucket events put home/watched ${rules(['s3:ObjectCreated:*'])}`)
  t.match(
    unreachable.stderr,
    /arn:svc:sqs:us-east-1:_:webhook does not take events now.*refuses the document with 422/s,
  )
  await fails(
    t,
    1,
    /rule mine: .*\(Event s3:Nothing\)/,
    `bucket events put home/watched ${rules(['s3:Nothing', 's3:Other'])}`,
  )
  answers.status = 200
  await admin(t, 'notify test home webhook:_')
  await admin(t, `bucket events put home/watched ${rules(['s3:ObjectCreated:*'])}`)

  answers.status = 422
  writeFileSync(join(folder, 'event.txt'), 'x')
  t.equal((await run(['cp', 'event.txt', 'home/watched/a'])).code, 0)
  const letters = () => json(t, 'notify dead-letter list home webhook:_')
  while ((await letters()).length === 0) await sleep(20)
  t.match(
    (await admin(t, 'notify dead-letter list home webhook:_')).stdout,
    /s3:ObjectCreated:Put +watched +a +1 +.*422/,
  )
  answers.status = 200
  t.match(await json(t, 'notify dead-letter retry home webhook:_'), [{ queued: 1 }])
  t.same(await letters(), [])
  answers.status = 422
  t.equal((await run(['cp', 'event.txt', 'home/watched/b'])).code, 0)
  while ((await letters()).length === 0) await sleep(20)
  await fails(t, 2, /--yes/, 'notify dead-letter discard home webhook:_')
  t.equal((await letters()).length, 1, 'nothing without a word')
  const [seen] = await letters()
  t.equal((await run(['cp', 'event.txt', 'home/watched/c'])).code, 0)
  while ((await letters()).length === 1) await sleep(20)
  t.match(await json(t, `notify dead-letter discard home webhook:_ --through ${seen!.id} --yes`), [
    { discarded: 1, left: 1 },
  ])
  t.match(await letters(), [{ key: 'c' }])
  await admin(t, 'notify dead-letter discard home webhook:_ --yes')
  t.same(await letters(), [])
  t.match((await admin(t, 'notify queue list home')).stdout, /webhook:_ +configured/)
  await fails(t, 5, /configured/, 'notify queue discard home webhook:_ --yes')
  await admin(t, `bucket events put home/watched ${file('none.json', { subscriptions: [] })}`)
  await admin(t, 'config reset home notify_webhook --yes')
  await fails(t, 3, /There is no queue/, 'notify queue discard home webhook:_ --yes')
})

t.test('passwd changes the secret of the user and of the alias', async t => {
  await run(['passwd', 'bob', '--new-secret-key-stdin'], { input: 'another-secret-of-bob\n' })
  t.match(readFileSync(join(configFolder, 'config.json'), 'utf8'), /another-secret-of-bob/)
  t.match(await run(['admin', 'key', 'list', 'bob']), { code: 0 })
  const made = await run(['passwd', 'bob', '--generate', '--quiet'])
  t.match(made, { code: 0, stdout: /^\S{30,}\n$/ })
  t.match(await run(['admin', 'key', 'list', 'bob']), { code: 0 })
  const again = await run(['passwd', 'home', '--generate'])
  t.match(again, { code: 5, stderr: /conflict/ }, 'root has its secret from the configuration')
  t.match(await run(['admin', 'user', 'list', 'home']), { code: 0 }, 'and its alias is as it was')
})

t.test('links are made, listed and revoked', async t => {
  await run(['cp', join(folder, 'rules.json'), 'home/kept/shared.json'])
  const link = await run(['share', 'download', 'home/kept/shared.json', '--expire', '1h', '--description', 'for eve'])
  t.match(link, { code: 0, stdout: /^http\S+\n$/, stderr: /^svcctl share revoke home \S+\n$/ })
  const url = link.stdout.trim()
  const answer = await fetch(url)
  t.same([answer.status, await answer.text()], [200, readFileSync(join(folder, 'rules.json'), 'utf8')])
  const listed = await run(['share', 'list', 'home/kept', '--json'])
  t.match(listed.records, [{ key: 'shared.json', description: 'for eve', state: 'active' }])
  t.notMatch(listed.stdout, /X-Amz-Signature/)
  const id = String(listed.records[0]!.id)
  t.match(await run(['share', 'revoke', 'home', id, 'no-such-id']), {
    code: 3,
    stdout: `Revoked ${id}.\n`,
    stderr: /share_not_found/,
  })
  t.equal((await fetch(url)).status, 403, 'at once')
  t.same((await run(['share', 'list', 'home', '--json'])).records, [])
  t.match(await run(['share', 'list', 'home']), { code: 0, stdout: '', stderr: 'There are none.\n' })
  t.match((await run(['share', 'list', 'home', '--state', 'all'])).stdout, new RegExp(`${id} .* revoked`))
  t.match(await run(['share', 'download', 'home/kept/none']), { code: 3, stderr: /object_not_found/ })
})

t.test('an answer that is a file gets its name when it is complete', async t => {
  const words = ['admin', 'object', 'zip', 'home/kept']
  t.match(await run([...words, '--object', 'shared.json']), { code: 2 }, 'objects come from a file')
  const objects = file('objects.json', [{ key: 'shared.json' }])
  t.match(await run([...words, '--objects', objects, '-o', 'kept.zip']), { code: 0, stdout: 'Saved kept.zip.\n' })
  t.equal(readFileSync(join(folder, 'kept.zip')).toString('latin1', 0, 2), 'PK')
  const snapshot = ['admin', 'profile', 'home', 'heap', '--snapshot', '-o', 'heap.heapsnapshot']
  t.match(await run(snapshot), { code: 0, stdout: 'Saved heap.heapsnapshot.\n' }, 'one of many chunks')
  JSON.parse(readFileSync(join(folder, 'heap.heapsnapshot'), 'utf8'))
  t.match(await run([...words, '--objects', '-', '-o', 'none.zip'], { input: '[{"key":"none"}]' }), { code: 3 })
  t.notOk(existsSync(join(folder, 'none.zip')))
})

t.test('encryption is shown, and keys of clients are known to be missing', async t => {
  const put = async (key: string, more: Readonly<Record<string, string>>) => {
    const answer = await server.sendToS3({ method: 'PUT', path: `/kept/${key}`, headers: more, body: 'sealed' })
    t.equal(answer.status, 200, await answer.text())
  }
  await admin(t, 'kms key create home photos')
  t.match(await json(t, 'kms reseal home'), [{ resealed: 0, failed: 0 }], 'takes no file')
  await fails(t, 2, /too many arguments/, 'kms reseal home document.json')
  t.match(await json(t, 'kms status get home'), [{ configured: true, online: true }])
  t.match((await admin(t, 'kms status get home')).stderr, /Keys can be had, and none is missing that new objects need/)
  await put('sse-s3', { 'x-amz-server-side-encryption': 'AES256' })
  await put('sse-kms', {
    'x-amz-server-side-encryption': 'aws:kms',
    'x-amz-server-side-encryption-aws-kms-key-id': 'photos',
  })
  t.match((await run(['stat', 'home/kept/sse-s3'])).stdout, /^Encryption +AES256$/m)
  const keyId = /^Encryption +aws:kms, key (\S*photos)$/m.exec((await run(['stat', 'home/kept/sse-kms'])).stdout)![1]
  t.match((await run(['stat', '--json', 'home/kept/sse-kms'])).records, [
    { encryption: { algorithm: 'aws:kms', kmsKeyId: keyId } },
  ])
  t.notMatch((await run(['stat', '--json', 'home/kept/shared.json'])).stdout, /encryption/)
  t.match(
    (await admin(t, 'object stat home/kept/sse-kms')).stdout,
    /encryption:\n +type: +SSE-KMS\n +kmsKeyId: +photos/,
  )

  const key = Buffer.alloc(32, 5)
  await put('sse-c', {
    'x-amz-server-side-encryption-customer-algorithm': 'AES256',
    'x-amz-server-side-encryption-customer-key': key.toString('base64'),
    'x-amz-server-side-encryption-customer-key-md5': hash('md5', key, 'base64'),
  })
  const object = 'home/kept/sse-c'
  for (const command of [
    ['stat', object],
    ['cat', object],
    ['cp', object, 'here'],
    ['cp', object, 'home/kept/copy'],
  ]) {
    const { code, stdout, stderr } = await run(command)
    t.match([code, stdout, stderr], [1, '', /key of the client \(SSE-C\): .*--sse-c.*InvalidRequest, request/])
  }
  t.match((await admin(t, `object stat ${object}`)).stdout, /encryption:\n +type: +SSE-C/)
})

t.test('objects are encrypted as is asked for, and read with keys of files', async t => {
  const succeed = async (...args: string[]) => {
    const outcome = await run(args)
    t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
    return outcome
  }
  const content = randomBytes((6 << 20) + 77)
  writeFileSync(join(folder, 'letter.bin'), content)
  const one = randomBytes(32)
  writeFileSync(join(folder, 'one.key'), one)
  writeFileSync(join(folder, 'two.key'), `${randomBytes(32).toString('base64')}\n`)
  const shown = async (key: string) => (await json(t, `object stat home/sealed/${key}`))[0]!.encryption
  const isHere = (name: string) => t.ok(readFileSync(join(folder, name)).equals(content), name)
  await succeed('mb', 'home/sealed')
  await succeed('cp', '--sse', 's3', 'letter.bin', 'home/sealed/s3')
  await succeed('cp', '--sse', 'kms:photos', '--part-size', '5MiB', 'letter.bin', 'home/sealed/kms')
  t.match(await shown('s3'), { type: 'SSE-S3' })
  t.match(await shown('kms'), { type: 'SSE-KMS', kmsKeyId: 'photos' })

  const whole = await succeed('--debug', 'cp', '--sse-c', 'one.key', 'letter.bin', 'home/sealed/whole')
  const parted = await succeed(
    'cp',
    '--debug',
    '--sse-c',
    'one.key',
    '--part-size',
    '5MiB',
    'letter.bin',
    'home/sealed/parted',
  )
  for (const { stdout, stderr } of [whole, parted]) t.notOk((stdout + stderr).includes(one.toString('base64')))
  t.match(whole.stderr, /debug: PutObject/)
  for (const key of ['whole', 'parted']) {
    t.match(await shown(key), { type: 'SSE-C' })
    const back = await succeed('cp', '--json', '--sse-c', 'one.key', `home/sealed/${key}`, `${key}.bin`)
    t.match(back.records, [{ verifiedBy: 'CRC32' }])
    isHere(`${key}.bin`)
    t.match(await run(['cp', '--sse-c', 'two.key', `home/sealed/${key}`, 'wrong.bin']), { code: 4 })
    const doubted = /The key that was given \(--sse-c\) may be another one than the object was encrypted with\./
    for (const command of ['cat', 'stat']) {
      const refused = await run([command, '--sse-c', 'two.key', `home/sealed/${key}`])
      t.match(refused, { code: 4, stdout: '', stderr: doubted }, command)
    }
    const ofSource = ['cp', '--sse-c-source', 'two.key', '--sse', 's3', `home/sealed/${key}`, 'home/sealed/no']
    t.match(await run(ofSource), { code: 4, stderr: doubted })
    const told = (await succeed('stat', '--sse-c', 'one.key', `home/sealed/${key}`)).stdout
    t.match(
      told,
      new RegExp(`Size .*\\(${content.length}\\)[\\s\\S]*Encryption +AES256, key of the client \\(SSE-C\\)\n`),
    )
    t.match((await succeed('stat', '--json', '--sse-c', 'one.key', `home/sealed/${key}`)).records, [
      { size: content.length, encryption: { algorithm: 'AES256', isCustomerKey: true } },
    ])
    t.match(await run(['cp', `home/sealed/${key}`, 'wrong.bin']), { code: 1, stderr: /--sse-c/ })
  }
  t.notOk(existsSync(join(folder, 'wrong.bin')))
  const read = await succeed('cat', '--sse-c', 'one.key', 'home/sealed/parted')
  t.ok(read.stdout === content.toString('utf8'), 'cat writes it')

  t.match(await run(['stat', '--sse-c', 'one.key', 'home/sealed']), { code: 2, stderr: /home\/sealed is a bucket/ })
  t.match(await run(['share', 'download', 'home/sealed/whole']), {
    code: 1,
    stderr: /\(SSE-C\), so nobody could open the link/,
  })
  await succeed('share', 'download', 'home/sealed/s3')

  // Copies that the server makes: under another key, under none, and of none.
  await succeed('cp', '--sse-c-source', 'one.key', '--sse-c', 'two.key', 'home/sealed/parted', 'home/sealed/again')
  await succeed('cp', '--sse-c-source', 'one.key', '--sse', 's3', 'home/sealed/whole', 'home/sealed/open')
  await succeed('cp', '--sse-c', 'two.key', 'home/sealed/s3', 'home/sealed/closed')
  t.match(
    [await shown('again'), await shown('open'), await shown('closed')],
    [{ type: 'SSE-C' }, { type: 'SSE-S3' }, { type: 'SSE-C' }],
  )
  for (const key of ['again', 'closed']) {
    await succeed('cp', '--sse-c', 'two.key', `home/sealed/${key}`, `${key}.bin`)
    isHere(`${key}.bin`)
  }

  mkdirSync(join(folder, 'letters'))
  for (const name of ['a', 'b']) writeFileSync(join(folder, 'letters', name), `letter ${name}`)
  const mirror = ['mirror', '--checksum', '--sse-c', 'one.key']
  await succeed(...mirror, 'letters', 'home/sealed/letters')
  t.match(await shown('letters/a'), { type: 'SSE-C' })
  t.match(await succeed(...mirror, 'letters', 'home/sealed/letters'), { stderr: 'Nothing to copy.\n' })
  await succeed(...mirror, 'home/sealed/letters', 'letters-back')
  t.equal(readFileSync(join(folder, 'letters-back', 'b'), 'utf8'), 'letter b')
  t.match(await succeed(...mirror, 'home/sealed/letters', 'letters-back'), { stderr: 'Nothing to copy.\n' })

  writeFileSync(join(folder, 'no.key'), 'a password, say')
  const refused = await run(['cp', '--sse-c', 'no.key', 'letter.bin', 'home/sealed/no'])
  t.match(refused, { code: 2, stderr: /"no\.key"|no\.key" holds no key/ })
  t.notMatch(refused.stderr, /password/)
  t.match(await run(['cp', '--sse-c', 'none.key', 'letter.bin', 'home/sealed/no']), { code: 3, stderr: /none\.key/ })
  t.match(await run(['cp', '--sse', 's3', '--sse-c', 'one.key', 'letter.bin', 'home/sealed/no']), { code: 2 })
  t.match(await run(['cp', '--sse', 'AES', 'letter.bin', 'home/sealed/no']), { code: 2, stderr: /neither s3, kms/ })
  t.match(await run(['cp', '--sse', 'kms:none', 'letter.bin', 'home/sealed/no']), { stderr: /KMS\.NotFound/ })
  // Not even asked for: TEST-NET-1 is nobody's address.
  const config = join(configFolder, 'config.json')
  const before = readFileSync(config, 'utf8')
  writeFileSync(config, before.replace(`"${endpoint}"`, '"http://192.0.2.1:9000"'))
  const plain = await run(['cp', '--sse-c', 'one.key', 'letter.bin', 'home/sealed/plain'])
  writeFileSync(config, before)
  t.match(plain, { code: 2, stderr: /goes only over https/ })
})

t.test('an existing object is encrypted by a copy onto itself', async t => {
  const succeed = async (...args: string[]) => {
    const outcome = await run(args)
    t.equal(outcome.code, 0, args.join(' '), { stderr: outcome.stderr })
    return outcome
  }
  const shown = async (key: string) => (await json(t, `object stat home/before/${key}`))[0]!.encryption
  await succeed('mb', 'home/before')
  for (const key of ['a', 'sub/b', 'sub/c']) {
    writeFileSync(join(folder, 'plain.txt'), `text of ${key}`)
    const words = ['--attr', 'author=ada', '--attr', 'Cache-Control=no-store', '--tags', 'x=1', '--storage-class']
    await succeed('cp', ...words, 'REDUCED_REDUNDANCY', 'plain.txt', `home/before/${key}`)
  }
  for (const words of [
    ['home/before/a', 'home/before/a'],
    ['home/before/a', 'home/before/'],
    ['-r', 'home/before/', 'home/before'],
    ['-r', 'home/before/sub', 'home/before/sub/'],
  ]) {
    t.match(await run(['cp', ...words]), {
      code: 2,
      stderr: /is its own target: add --sse s3, --sse kms or --sse-c FILE/,
    })
    // It would be gone.
    t.match(await run(['mv', '--sse', 's3', ...words]), { code: 2, stderr: /is its own target: it would be removed/ })
  }
  await run(['alias', 'set', '--admin-url', adminUrl, 'twin', endpoint, 'admin'], {
    env: { SVCCTL_SECRET_KEY: 'change-me-please' },
  })
  t.match(await run(['mv', 'home/before/a', 'twin/before/a']), { code: 2, stderr: /would be removed/ })
  t.match(await run(['cp', '--sse', 's3', 'home/before/a', 'twin/before/a']), { code: 2, stderr: /by the same alias/ })
  t.equal(await shown('a'), undefined)

  const whole = await succeed('cp', '--sse', 's3', 'home/before/a', 'home/before/a')
  t.equal(whole.stdout, 'home/before/a -> home/before/a\n')
  t.match([await shown('a'), await shown('sub/b')], [{ type: 'SSE-S3' }, undefined])
  await succeed('cp', '-r', '--sse', 'kms:photos', 'home/before/sub', 'home/before/sub')
  t.match([await shown('a'), await shown('sub/c')], [{ type: 'SSE-S3' }, { type: 'SSE-KMS', kmsKeyId: 'photos' }])
  const all = await succeed('cp', '-r', '--json', '--sse', 's3', 'home/before/', 'home/before/')
  t.same(all.records.map(({ target }) => target).sort(), ['home/before/a', 'home/before/sub/b', 'home/before/sub/c'])
  for (const key of ['a', 'sub/b', 'sub/c']) {
    t.match(await shown(key), { type: 'SSE-S3' })
    t.equal((await succeed('cat', `home/before/${key}`)).stdout, `text of ${key}`)
    t.match((await succeed('stat', '--json', `home/before/${key}`)).records, [
      { metadata: { author: 'ada' }, cacheControl: 'no-store', storageClass: 'REDUCED_REDUNDANCY' },
    ])
    t.same(await tagsOf('before', key), [{ Key: 'x', Value: '1' }])
  }
  await succeed('cp', '-r', '--sse', 's3', 'home/before/sub', 'home/before/a', 'home/before')
  const inside = await run(['cp', '-r', '--sse', 's3', 'home/before', 'home/before/sub'])
  t.match(inside, { code: 2, stderr: /the copy would go on for ever/ })
})

t.test('a copy in parts has the tags of its source', async t => {
  writeFileSync(join(folder, 'tagged.txt'), 'tagged')
  await run(['mb', 'home/parts'])
  t.match(await run(['cp', '--tags', 'a%2Bb=1%202&c=', 'tagged.txt', 'home/parts/one']), { code: 0 })
  const client = createClient({
    alias: { endpoint, accessKey: 'admin', secretKey: 'change-me-please', region: 'us-east-1', pathStyle: 'on' },
    connectionCount: 2,
    timeoutMs: 10_000,
    debug: undefined,
  })
  t.teardown(() => client.close())
  const from = { bucket: 'parts', key: 'one' }
  const facts = await headObject(client, from)
  await copyOnServer({ client, from, to: from, facts, headers: {}, wholeBytesMax: 0 })
  t.match((await run(['stat', 'home/parts/one'])).stdout, /^ETag +\w+-1$/m, 'it went in parts')
  t.same(await tagsOf('parts', 'one'), [
    { Key: 'a+b', Value: '1 2' },
    { Key: 'c', Value: '' },
  ])
})

t.test('keys that are missing, or cannot be had, are failures', async t => {
  const drive = temporaryFolder(t)
  const start = async (name: string, config: object, more?: TestServerOptions) => {
    const sections = { storage: { endpoints: [drive] }, ...config }
    const started = await startServer({ derivesStoreKey: true, config: sections, ...more })
    await run(['--admin-url', started.adminUrl, 'alias', 'set', name, started.endpoint, 'admin'], {
      env: { SVCCTL_SECRET_KEY: 'change-me-please' },
    })
    return started
  }
  const iam = { rootUser: 'admin', rootPassword: 'change-me-please' }
  const keyed = (fill: number, previous: readonly number[] = []) => {
    const text = (byte: number) => `name:${Buffer.alloc(32, byte).toString('base64')}`
    return { iam, kms: { secretKey: text(fill), previousSecretKeys: previous.map(text) } }
  }
  const first = await start('first', keyed(1))
  await run(['mb', 'first/locked'])
  t.match(await run(['cp', '--sse', 's3', '-', 'first/locked/a'], { input: 'a' }), { code: 0 })
  t.match(await json(t, 'kms reseal first'), [{ failed: 0 }])
  t.match(
    (await admin(t, 'kms reseal first')).stderr,
    /^The running server knows no former key: .* restart` does not read it\.\n$/,
  )
  await first.stop()
  // The store goes over to the other key by itself, and the object stays under the former one.
  const between = await start('between', keyed(2, [1]))
  await between.stop()

  const second = await start('second', keyed(2))
  const missing = await fails(
    t,
    1,
    /Data keys of objects may still be wrapped under the former master key "name".*SECRET_KEY_PREVIOUS/,
    'kms status get second',
  )
  t.match(missing.stdout, /configured: +yes[\s\S]*error: +data keys of objects may/, 'all of it is shown')
  const resealed = await run(['admin', 'kms', 'reseal', 'second', '--json'])
  t.match(resealed, { code: 1, records: [{ failed: 1 }], error: { code: 'not_done' } })
  t.match(
    resealed.error.message,
    /^1 could not be sealed anew\. The first error: .+\. Keep the former key .* without failures\.$/,
  )
  await second.stop()

  const third = await start('third', keyed(2, [1]))
  t.match(await json(t, 'kms reseal third'), [{ resealed: 1, failed: 0, formerKeys: 1 }])
  t.equal(
    (await admin(t, 'kms reseal third')).stderr,
    'Former keys that the server was started with are no longer needed.\n',
  )
  t.match(
    (await admin(t, 'kms reseal third --bucket locked')).stderr,
    /^Former keys are still needed, until all buckets/,
  )
  t.match(
    (await admin(t, 'kms status get third')).stderr,
    'Keys can be had, and none is missing that new objects need.\n',
  )
  await third.stop()

  const away = definePlugin({
    name: 'away',
    setup({ contribute }) {
      const refuse = () => {
        throw new Error('is never asked')
      }
      contribute('kms.backend', 'away', {
        isConfigured: true,
        kind: 'remote',
        create: () => ({
          defaultKeyId: 'far',
          generate: refuse,
          wrap: refuse,
          unwrap: refuse,
          isCurrent: refuse,
          getKey: refuse,
          createKey: refuse,
          listKeys: refuse,
          status: () => ({ endpoints: [{ url: 'https://far', online: false }], online: false, error: '', version: '' }),
        }),
      })
      return {}
    },
  })
  const fourth = await start('fourth', keyed(2), { plugins: [away] })
  await fails(t, 1, /The key server cannot be reached at present\.\n$/, 'kms status get fourth')
  await fourth.stop()

  const none = await startServer({ derivesStoreKey: true })
  t.teardown(() => none.stop())
  await run(['--admin-url', none.adminUrl, 'alias', 'set', 'none', none.endpoint, 'admin'], {
    env: { SVCCTL_SECRET_KEY: 'change-me-please' },
  })
  t.match(await admin(t, 'kms status get none'), { stdout: /configured: +no/, stderr: /^Objects cannot be encrypted/ })
})

t.test('the end of a heal job reports data on an offline drive', async t => {
  const drives = mkdtempSync(join(tmpdir(), 'svcctl-set-'))
  // A stop does not wait for a drive that is slow to answer: that one may still write while it is removed.
  t.teardown(() => rmSync(drives, { recursive: true, maxRetries: 20 }))
  const storage = { endpoints: [join(drives, 'd{1...4}')] }
  const set = await startServer({ derivesStoreKey: true, config: { storage } })
  t.teardown(() => set.stop())
  await run(['--admin-url', set.adminUrl, 'alias', 'set', 'set', set.endpoint, 'admin'], {
    env: { SVCCTL_SECRET_KEY: 'change-me-please' },
  })
  writeFileSync(join(folder, 'shards.bin'), randomBytes(1 << 20))
  await run(['mb', 'set/photos'])
  t.match(await run(['cp', 'shards.bin', 'set/photos/a']), { code: 0 })
  const heal = 'heal start set --recursive --deep --wait'
  while ((await run(['admin', 'heal', 'status', 'set'])).code !== 0) await sleep(100)
  const { stdout, stderr } = await admin(t, heal)
  t.match([stdout, stderr], [/state: +completed/, ''], 'everything is there')
  renameSync(join(drives, 'd3'), join(drives, 'd3.away'))
  while ((await run(['admin', 'heal', 'status', 'set'])).code === 0) await sleep(100)
  for (const command of [`${heal} --dry-run`, heal]) {
    const ended = await run(['admin', ...command.split(' ')])
    t.equal(ended.code, 1, 'a script does not take it for a finished repair')
    t.match(ended.stdout, /damaged: +0\n/)
    t.match(ended.stderr, /1 of 4 drives cannot be read\. 1 of 1 version or part lacks a shard/)
    t.match(ended.stderr, /drives that could not be read was not looked at: \S+d3\./)
  }
  const listed = await admin(t, 'heal list set')
  t.match(
    listed.stdout,
    /DRY RUN .*\n\S+ +completed +\S+ +no .*\n\S+ +completed +\S+ +yes .*\n\S+ +completed +\S+ +no /,
  )
})

t.test('an upload that the bucket has no room for leaves nothing behind', async t => {
  writeFileSync(join(folder, 'large.bin'), Buffer.alloc(12 << 20, 1))
  await admin(t, 'bucket create home/small --quota 8MiB')
  const refused = await run(['cp', '--part-size', '5MiB', 'large.bin', 'home/small/large.bin'])
  t.match([refused.code, refused.stderr], [4, /QuotaExceeded/])
  t.equal((await run(['ls', '--incomplete', 'home/small'])).stdout, '', 'its parts are gone')
  await admin(t, 'bucket quota set home/small 20MiB')
  t.match(await run(['cp', '--part-size', '5MiB', 'large.bin', 'home/small/large.bin']), { code: 0 })
})

t.test('an answer of another server than the Admin API is an error that explains it', async t => {
  const to = (url: string) => `user list home --admin-url ${url}`
  await fails(
    t,
    1,
    new RegExp(`is the address of S3.*the default is http://127\\.0\\.0\\.1:${server.s3Port + 1}\\.`),
    to(endpoint),
  )
  const other = createServer((_, answer) => answer.writeHead(404).end('nothing here'))
  await new Promise<void>(done => other.listen(0, '127.0.0.1', done))
  t.teardown(() => other.close())
  const elsewhere = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  await fails(t, 1, /is not the Admin API of svc\. .*--admin-url/, to(elsewhere))
  const aliasTo = (url: string, accessKey: string) =>
    run(['alias', 'set', 'lost', url, accessKey], { env: { SVCCTL_SECRET_KEY: 'change-me-please' } })
  for (const accessKey of ['admin', 'nobody']) {
    const { code, stderr } = await aliasTo(adminUrl, accessKey)
    t.match([code, stderr], [1, /address of the console.* by default http:\/\/127\.0\.0\.1:\d+;/])
  }
  t.match(await aliasTo(elsewhere, 'admin'), { stderr: /There is nothing of that name/ })
  await fails(t, 1, /Nothing listens there.*--admin-url/, to('http://127.0.0.1:1'))
  await fails(t, 2, /no endpoint/, to('localhost'))
  await fails(t, 2, /unknown command 'chairs'/, 'chairs get home')
})

t.test('events come whole, wherever the chunks are cut', t => {
  const text =
    ': \n\nevent: trace\nid: 1\ndata: {"a":1}\n\nevent: dropped\r\ndata: {"count":\r\ndata: 2}\r\n\r\ndata:x\n\n'
  for (const size of [1, 2, 7, text.length]) {
    const seen: string[] = []
    const parse = createEventParser((event, data) => seen.push(`${event} ${data}`))
    for (let at = 0; at < text.length; at += size) parse(text.slice(at, at + size))
    t.same(seen, ['trace {"a":1}', 'dropped {"count":\n2}', 'message x'], `chunks of ${size}`)
  }
  t.end()
})
