/** The environment file: random, private, never overwritten, and accepted by the server that it is for. */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CliIo } from 'svc/kernel'
import iam from 'svc/plugins/iam/index'
import { createSeededRandom, startKernel } from 'svc/testing'
import t from 'tap'
import { createCredentials } from '../environment-file.ts'
import init from '../init.ts'

const folder = mkdtempSync(join(tmpdir(), 'svc-init-'))
t.teardown(() => rmSync(folder, { recursive: true }))

async function run(...argv: string[]): Promise<{ code: number | undefined; out: string; err: string }> {
  const kernel = await startKernel({ plugins: [init], until: 'set-up' })
  const texts = { out: '', err: '' }
  const stream = (name: 'out' | 'err') =>
    ({
      write: (text: string) => {
        texts[name] += text
      },
    }) as unknown as NodeJS.WritableStream
  const io: CliIo = { stdout: stream('out'), stderr: stream('err'), env: {} }
  const code = await kernel.point('cli.command').get('init')?.run(argv, io)
  await kernel.stop()
  return { code, ...texts }
}

t.test('a file for its owner alone, that a shell and the server can read', async t => {
  const path = join(folder, "it's here.env")
  const umask = process.umask(0)
  const { code, out } = await run(path)
  process.umask(umask)
  t.equal(code, 0)
  t.equal(statSync(path).mode & 0o777, 0o600)
  const values = Object.fromEntries(
    readFileSync(path, 'utf8')
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'))
      .map(line => line.split(/=(.*)/s).slice(0, 2)),
  )
  t.same(Object.keys(values), ['SVC_ROOT_USER', 'SVC_ROOT_PASSWORD', 'SVC_KMS_SECRET_KEY'])
  t.match(values.SVC_KMS_SECRET_KEY, /^default:[A-Za-z0-9+/]{43}=$/)
  t.equal(Buffer.from(values.SVC_KMS_SECRET_KEY.slice(8), 'base64').length, 32)
  t.notMatch(out, values.SVC_ROOT_PASSWORD, 'the password is not printed')
  t.match(out, values.SVC_ROOT_USER)
  const line = /^ {2}(set -a;.*)$/m.exec(out)?.[1] ?? 'false'
  const shown = execFileSync('sh', ['-c', `${line}; printf %s "$SVC_ROOT_PASSWORD"`], { encoding: 'utf8' })
  t.equal(shown, values.SVC_ROOT_PASSWORD, 'the printed line loads it')
  const config = { iam: { rootUser: values.SVC_ROOT_USER, rootPassword: values.SVC_ROOT_PASSWORD } }
  await (await startKernel({ plugins: [iam], config })).stop()
})

t.test('nothing that exists is touched', async t => {
  const path = join(folder, 'precious')
  writeFileSync(path, 'precious')
  t.match(await run(path), { code: 1, err: /already exists/ })
  t.equal(readFileSync(path, 'utf8'), 'precious')
  const target = join(folder, 'elsewhere')
  symlinkSync(target, join(folder, 'link'))
  t.match(await run(join(folder, 'link')), { code: 1 })
  t.equal(existsSync(target), false)
  t.match(await run(join(folder, 'missing', 'file')), { code: 1, err: /ENOENT/ })
  t.match(await run('a', 'b'), { code: 2 })
  await t.rejects(run('--force'), { code: 'ERR_PARSE_ARGS_UNKNOWN_OPTION' })
})

t.test('every character is as likely as the next', async t => {
  const random = createSeededRandom(7)
  const counts = new Map<string, number>()
  for (let round = 0; round < 2000; round++) {
    const { rootPassword } = createCredentials(random)
    if (rootPassword.length !== 40) t.fail(rootPassword)
    for (const character of rootPassword) counts.set(character, (counts.get(character) ?? 0) + 1)
  }
  const expected = 80_000 / counts.size
  t.ok(counts.size > 50)
  for (const [character, count] of counts) {
    if (Math.abs(count - expected) > 6 * Math.sqrt(expected)) t.fail(`${character}: ${count} instead of ${expected}`)
  }
})
