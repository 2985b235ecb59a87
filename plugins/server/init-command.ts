import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { defineCliCommand } from 'svc/kernel'
import { createCredentials, formatEnvironmentFile, writeEnvironmentFile } from './environment-file.ts'

const defaultFile = 'svc.env'

export default defineCliCommand({
  name: 'init',
  summary: 'Writes an environment file with random root credentials and a master key.',
  usage: '[FILE]',
  examples: ['svc init', 'svc init /etc/svc/svc.env'],
  uses: ['ports'],
  async run(argv, io, { ports }) {
    const { positionals } = parseArgs({ args: [...argv], allowPositionals: true })
    if (positionals.length > 1) {
      io.stderr.write('svc init: name one file at most\n')
      return 2
    }
    const path = resolve(positionals[0] ?? defaultFile)
    const credentials = createCredentials(ports.random)
    try {
      await writeEnvironmentFile(path, formatEnvironmentFile(credentials))
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException
      const reason = code === 'EEXIST' ? 'it already exists, and is not changed' : message
      io.stderr.write(`svc init: ${path} was not written: ${reason}\n`)
      return 1
    }
    io.stdout.write(
      [
        `Wrote ${path} (readable by you alone). It holds the root credentials and the master key.`,
        '',
        'Next:',
        `  set -a; . ${quote(path)}; set +a`,
        '  svc server /path/to/an/empty/folder',
        '',
        `The root user is ${credentials.rootUser}; its password is in the file.`,
        '',
      ].join('\n'),
    )
    return 0
  },
})

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
