/** The bundled program, as the package of the server ships it: it runs where no package is installed. */
import { hash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import t from 'tap'
import { startServer } from './server.ts'
import { root, runChild } from './session.ts'

const folder = mkdtempSync(join(tmpdir(), 'svcctl-built-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const { buildSvcctl } = await import(pathToFileURL(join(root, '.ci/build-svcctl.mjs')).href)
await buildSvcctl(join(folder, 'program'), { isBundled: true })
const server = await startServer()
t.teardown(() => server.stop())

t.test('the bundled program uploads, downloads and verifies', async t => {
  const svcctl = async (...args: string[]) => {
    const { code, output } = await runChild(process.execPath, [join(folder, 'program/main.js'), ...args], {
      cwd: folder,
      env: { HOME: folder, SVCCTL_SECRET_KEY: 'change-me-please' },
    })
    t.equal(code, 0, args.join(' '), { output })
    return output
  }
  const { version } = JSON.parse(readFileSync(join(root, 'contrib/svcctl/package.json'), 'utf8'))
  t.equal((await svcctl('--version')).trim(), version)
  await svcctl('--admin-url', server.adminUrl, 'alias', 'set', 'home', server.endpoint, 'admin')
  await svcctl('mb', 'home/built')
  const content = 'x'.repeat(100_000)
  writeFileSync(join(folder, 'up.txt'), content)
  await svcctl('cp', 'up.txt', 'home/built/up.txt')
  await svcctl('cp', 'home/built/up.txt', 'down.txt')
  t.equal(readFileSync(join(folder, 'down.txt'), 'utf8'), content)
  for (const algorithm of ['CRC32C', 'CRC64NVME', 'XXHASH3']) {
    const headers = { [`x-amz-checksum-${algorithm.toLowerCase()}`]: await digestOf(algorithm, content) }
    const put = await server.sendToS3({ method: 'PUT', path: `/built/${algorithm}`, headers, body: content })
    t.equal(put.status, 200, await put.text())
    t.equal(hash('sha256', await svcctl('cat', `home/built/${algorithm}`)), hash('sha256', content), algorithm)
  }
  t.match(await svcctl('admin', 'bucket', 'list', 'home'), /built/)
  t.match(readFileSync(join(folder, 'program/LICENSES.txt'), 'utf8'), /^undici /m)
})

async function digestOf(algorithm: string, content: string): Promise<string> {
  const { createChecksums } = await import('svc/plugins/checksums/api')
  const checksums = createChecksums()
  await checksums.start()
  return checksums.compute(algorithm as 'CRC32C', Buffer.from(content)).toString('base64')
}
