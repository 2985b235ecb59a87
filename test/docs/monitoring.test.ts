/** The dashboard and the alerts of docs/operate/prometheus, against what a server really exports; and Prometheus' own checks of all. */
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import { promisify } from 'node:util'
import standard from 'svc/plugins/standard'
import { startKernel, temporaryFolder } from 'svc/testing'
import t from 'tap'
import { svcctlProgram } from '../services/programs.ts'
import { requireProgram } from '../wire/clients.ts'
import { root } from './blocks.ts'

const promtool = requireProgram('promtool')
const openssl = requireProgram('openssl')
const folder = temporaryFolder(t, 'monitoring')
const documents = join(root, 'docs/operate/prometheus')
const alerts = readFileSync(join(documents, 'alerts.yml'), 'utf8')
const dashboard = readFileSync(join(documents, 'grafana.json'), 'utf8')

/** With everything that families hang on: several drives, a certificate, keys. */
async function start() {
  const certsDir = join(folder, 'certs')
  mkdirSync(certsDir)
  const page = readFileSync(join(root, 'docs/operate/tls.md'), 'utf8')
  const command = /```sh\n(openssl req[\s\S]*?)```/.exec(page)![1]!
  execFileSync('bash', ['-euc', command], { cwd: certsDir, stdio: 'pipe' })
  const kernel = await startKernel({
    plugins: standard,
    config: {
      http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
      iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
      storage: { endpoints: [1, 2, 3, 4].map(number => join(folder, `d${number}`)) },
      kms: { secretKey: `test:${Buffer.alloc(32, 7).toString('base64')}` },
      tls: { certsDir },
    },
  })
  const { port } = kernel.services.http.listeners().find(({ name }) => name === 's3')!
  await new Promise<void>((done, fail) => {
    get({ host: '127.0.0.1', port, path: '/photos/a', rejectUnauthorized: false }, answer => {
      answer.resume().on('end', done)
    }).on('error', fail)
  })
  return kernel
}

/** PromQL, one expression after the other: what belongs to Grafana is put in place. */
const rules = [...alerts.matchAll(/^ +expr: (?:>-\n((?: {10}.*\n)+)|(.*))$/gm)].map(([, lines, line]) => lines ?? line!)
const panels = JSON.parse(dashboard).panels as { targets?: { expr: string }[] }[]
const charts = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))
const inPlace = (expression: string) =>
  expression.replaceAll('$__rate_interval', '5m').replaceAll('"$server"', '".+"').trim()

t.test('every family and label that they name is exported', { skip: openssl.skip }, async t => {
  const kernel = await start()
  const families = new Map((await kernel.services.metrics.sample()).map(family => [family.name, family]))
  t.ok(rules.length > 15 && charts.length > 30, `${rules.length} rules, ${charts.length} charts`)
  for (const expression of [...rules, ...charts]) {
    const own = ['le', 'server', 'job', 'instance']
    const labels = new Set(own)
    for (const [found] of expression.matchAll(/\b(?:svc|nodejs|process)_[a-z0-9_]+/g)) {
      const family = families.get(found) ?? families.get(found.replace(/_(bucket|sum|count)$/, ''))
      t.ok(family, `${found} is exported`)
      if (found.endsWith('_bucket') && family?.name !== found) t.equal(family?.type, 'histogram', found)
      for (const label of family?.labels ?? []) labels.add(label)
      if (/_total$/.test(found) && family?.type !== 'counter') t.fail(`${found} is no counter`)
    }
    const named = [
      ...[...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(',').map(name => name.trim())),
      ...[...expression.matchAll(/\{([^}]*)\}/g)].flatMap(([, list]) => list!.match(/\b\w+(?=[=!]~?)/g) ?? []),
    ]
    for (const name of named) t.ok(labels.has(name), `${name} is a label in ${expression}`)
  }
  const shown = [...alerts.matchAll(/\$labels\.(\w+)/g)].map(([, name]) => name!)
  const known = new Set([...families.values()].flatMap(({ labels }) => labels).concat('server', 'instance'))
  t.same(
    shown.filter(name => !known.has(name)),
    [],
  )
  for (const scope of ['node', 'cluster', 'bucket'] as const) {
    const text = await kernel.services.metrics.scrape(scope)
    if (promtool.skip) continue
    // Names of Node.js' own families, and one of the specification, are not in the style of Prometheus: a complaint about style is code 3; a text that Prometheus does not take is 1.
    const complaints = lint(text)
    t.same(
      complaints.filter(line => !/^((nodejs|process)_|svc_cluster_drives_total )/.test(line)),
      [],
      scope,
    )
  }
  t.same(await kernel.stop(), [])
})

function lint(text: string): readonly string[] {
  try {
    execFileSync(promtool.path, ['check', 'metrics'], { input: text, stdio: 'pipe' })
    return []
  } catch (error) {
    const { status, stderr } = error as { readonly status: number; readonly stderr: Buffer }
    if (status !== 3) throw error
    return stderr.toString().trim().split('\n')
  }
}

t.test('Prometheus takes the rules, and the expressions of the dashboard', { skip: promtool.skip }, t => {
  const check = (name: string, text: string) => {
    const file = join(folder, name)
    writeFileSync(file, text)
    return execFileSync(promtool.path, ['check', 'rules', file], { encoding: 'utf8' })
  }
  t.match(check('alerts.yml', alerts), /SUCCESS: \d+ rules found/)
  // Recording rules are the way to have an expression parsed.
  const recorded = charts.map(
    (expression, index) => `      - { record: "chart:${index}", expr: ${JSON.stringify(inPlace(expression))} }`,
  )
  t.match(check('charts.yml', `groups:\n  - name: charts\n    rules:\n${recorded.join('\n')}\n`), /SUCCESS/)
  t.throws(
    () => check('wrong.yml', alerts.replace('svc_drive_online == 0', 'svc_drive_online ==')),
    'a wrong one fails',
  )
  t.end()
})

t.test('Prometheus takes the scrape configuration', { skip: promtool.skip }, async t => {
  const { scrapeConfig } = await import('../../plugins/prometheus/scrape-config.ts')
  for (const token of [undefined, 'a.b.c']) {
    const file = join(folder, 'prometheus.yml')
    writeFileSync(
      file,
      scrapeConfig({ target: 'storage.test:9000', isTls: true, token, scopes: ['node', 'cluster', 'bucket'] }),
    )
    t.match(execFileSync(promtool.path, ['check', 'config', file], { encoding: 'utf8' }), /SUCCESS/)
  }
})

t.test(
  'Prometheus takes what `svcctl admin prometheus generate` prints, and a scrape with its token is answered',
  async t => {
    const kernel = await startKernel({
      plugins: standard,
      config: {
        http: { address: '127.0.0.1:0', consoleAddress: '127.0.0.1:0' },
        iam: { rootUser: 'admin', rootPassword: 'change-me-please' },
        storage: { endpoints: [join(folder, 'generated')] },
      },
    })
    t.teardown(() => kernel.stop())
    const portOf = (wanted: string) => kernel.services.http.listeners().find(({ name }) => name === wanted)!.port
    const svcctl = async (...args: string[]) => {
      const environment = {
        ...process.env,
        SVCCTL_CONFIG_DIR: join(folder, 'svcctl'),
        SVCCTL_SECRET_KEY: 'change-me-please',
      }
      const { stdout } = await promisify(execFile)(process.execPath, [svcctlProgram, ...args], {
        env: environment,
      })
      return stdout
    }
    const admin = `http://127.0.0.1:${portOf('console')}`
    await svcctl('--admin-url', admin, 'alias', 'set', 'home', `http://127.0.0.1:${portOf('s3')}`, 'admin')
    const text = await svcctl('admin', 'prometheus', 'generate', 'home', 'node', 'cluster', 'bucket', '--expiry', '1h')
    const token = /credentials: (\S+)/.exec(text)![1]!.replaceAll('"', '').replaceAll("'", '')
    const paths = [...text.matchAll(/metrics_path: (\S+)/g)].map(([, path]) => path!)
    t.equal(paths.length, 3)
    for (const path of paths) {
      const answer = await fetch(`http://127.0.0.1:${portOf('s3')}${path}`, {
        headers: { authorization: `Bearer ${token}` },
      })
      t.equal(answer.status, 200, path)
      t.match(await answer.text(), /^# HELP svc_/m)
    }
    if (promtool.skip) return
    const file = join(folder, 'generated.yml')
    writeFileSync(file, text)
    t.match(execFileSync(promtool.path, ['check', 'config', file], { encoding: 'utf8' }), /SUCCESS/)
  },
)
