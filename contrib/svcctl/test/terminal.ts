/** svcctl as a process on a real pseudo-terminal, as `script` of util-linux makes one. */
import { spawn } from 'node:child_process'
import { svcctlProgram } from '../../../test/services/programs.ts'
import type { Session } from './session.ts'

export interface TerminalOutcome {
  readonly code: number
  /** All output to the terminal, with colors. */
  readonly raw: string
  /** As it stood there in the end of each line: without colors, and of lines that were written over the last state. */
  readonly lines: readonly string[]
  /** Everything that a line has shown at any time. */
  readonly shown: readonly string[]
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences of terminals
const controls = /\u001b\[[0-9;?]*[A-Za-z]/g

export function runOnTerminal(
  { environment, folder }: Session,
  args: readonly string[],
  { columns = 80, input }: { readonly columns?: number; readonly input?: string } = {},
): Promise<TerminalOutcome> {
  const words = [process.execPath, svcctlProgram, ...args]
  const command = `stty cols ${columns} rows 24; exec ${words.map(quote).join(' ')}`
  const child = spawn('script', ['--quiet', '--return', '--flush', '--command', command, '/dev/null'], {
    cwd: folder,
    env: { ...environment, TERM: 'xterm-256color', SHELL: '/bin/sh' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  if (input === undefined) child.stdin.on('error', () => {})
  else child.stdin.end(input)
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', code => {
      child.stdin.destroy()
      const raw = Buffer.concat(chunks).toString('utf8')
      const shown = raw.replaceAll(controls, '').split(/[\r\n]+/)
      const lines = raw.split(/\r*\n/).map(line => line.replaceAll(controls, '').split('\r').at(-1)!)
      resolve({ code: code ?? 1, raw, lines, shown })
    })
  })
}

const quote = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
