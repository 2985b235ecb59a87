/**
 * The folder of an index: checked by a separate process, opened, and set aside when it is damaged, so that recovery builds a new
 * one. Called by `open-drive.ts` and by the periodic check.
 */
import { spawn } from 'node:child_process'
import { rename, rm, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import { storageErrors } from 'svc/plugins/storage/api'
import type { IndexStore } from './index-store.ts'
import { openLmdbIndex } from './lmdb-index.ts'

/** An index up to this size is checked in full at each start: takes one to two seconds, for some two million records. */
const alwaysCheckedBytesMax = 512 * 1024 * 1024
/** A checking process that writes nothing for this long is considered hung. */
const silenceMsMax = 60_000
const outputBytesMax = 65_536

export interface IndexFolder {
  open(path: string): Promise<IndexStore>
  /**
   * The problem with the index, or undefined. Scope `all` checks every entry. Scope `start` does so for an index of up to 512
   * MiB, and otherwise checks only that it can be opened and read; `isWhole` says which. Use `free`: no process has the index
   * open; `untouched`: the same, and the check must not change it; `live`: this server has it open.
   */
  check(
    path: string,
    scope: 'all' | 'start',
    use: 'free' | 'live' | 'untouched',
  ): Promise<{ readonly problem: string | undefined; readonly isWhole: boolean }>
  /** The files of an open index: none may be removed. */
  filesOf(path: string): readonly string[]
  /** Keeps the index beside its successor, which is empty, until that is complete. */
  setAside(path: string): Promise<void>
  hasAside(path: string): Promise<boolean>
  /** Removes the index that was set aside, if there is one. */
  discardAside(path: string): Promise<void>
}

/** What callers of a drive whose index is lost get. */
export function lossOf(message: string, cause: unknown): Error {
  return storageErrors.faulty(message, { cause })
}

export const lmdbIndexFolder: IndexFolder = {
  open: async path => openLmdbIndex(path, { lossOf }),
  async check(path, scope, use) {
    const sizeBytes = await stat(`${path}/data.mdb`).then(
      ({ size }) => size,
      () => undefined,
    )
    // No index exists.
    if (sizeBytes === undefined) return { problem: undefined, isWhole: true }
    const isWhole = scope === 'all' || sizeBytes <= alwaysCheckedBytesMax
    return { problem: await checkInProcess([path, isWhole ? 'all' : 'probe', use]), isWhole }
  },
  filesOf: path => [`${path}/data.mdb`, `${path}/lock.mdb`],
  async setAside(path) {
    const aside = asideOf(path)
    // An older one is still there when its successor never became complete; then the older one has more.
    if (await exists(aside)) await rm(path, { recursive: true, force: true })
    else await rename(path, aside)
    // In a process of its own, because LMDB crashes where a file that it creates cannot be written.
    const problem = await checkInProcess([path, 'probe', 'free'])
    if (problem !== undefined) throw new Error(`A new index cannot be created: ${problem}.`)
  },
  hasAside: path => exists(asideOf(path)),
  async discardAside(path) {
    await rm(asideOf(path), { recursive: true, force: true })
  },
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}

function asideOf(path: string): string {
  return `${path}.damaged`
}

const checkScript = fileURLToPath(
  new URL(`./index-check-process${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url),
)

/** Resolves with the problem that the process reports, or with the way it ended before a report. */
export function checkInProcess(args: readonly string[], script = checkScript): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // No secrets in the environment, and nothing that loads code.
      env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE },
    })
    let output = ''
    let isSilent = false
    const onSilence = () => {
      isSilent = true
      child.kill('SIGKILL')
    }
    let timer = setTimeout(onSilence, silenceMsMax).unref()
    if (args.includes('live')) {
      // A stopping server does not wait for the process.
      child.unref()
      ;(child.stdout as Socket).unref()
    }
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      output = (output + text).slice(-outputBytesMax)
      clearTimeout(timer)
      // The answer is complete; the process may be unable to exit by itself.
      if (answerOf(output) !== undefined) return void child.kill('SIGKILL')
      timer = setTimeout(onSilence, silenceMsMax).unref()
    })
    child.on('error', error => {
      clearTimeout(timer)
      reject(error)
    })
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      const answer = answerOf(output)
      if (answer !== undefined) resolve(answer.problem ?? undefined)
      else if (isSilent) resolve('reading it took too long')
      else resolve(`reading it ended with ${signal ?? `code ${code}`}`)
    })
  })
}

function answerOf(output: string): { problem: string | null } | undefined {
  const line = /^\{.*\}\n/m.exec(output)?.[0]
  return line === undefined ? undefined : JSON.parse(line)
}
