/** The index as a folder: checked in another process, opened, and put aside when it is not what it should be. */
import { spawn } from 'node:child_process'
import { rename, rm, stat } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { fileURLToPath } from 'node:url'
import type { IndexStore } from './index-store.ts'
import { openLmdbIndex } from './lmdb-index.ts'

/** An index up to this size is checked as a whole at each start: a second, about half a million records. */
const alwaysCheckedBytesMax = 512 * 1024 * 1024
/** A check that says nothing for this long hangs. */
const silenceMsMax = 60_000
const outputBytesMax = 65_536

export interface IndexFolder {
  open(path: string): Promise<IndexStore>
  /**
   * What is wrong with the index, or undefined. With 'all' every entry is looked at; with 'start' so it is unless that would take
   * long: then only whether it can be opened and read at all. `isWhole` says which it was. A 'free' index is one that nobody has
   * open; an 'untouched' one, too, and it stays as it is.
   */
  check(
    path: string,
    scope: 'all' | 'start',
    use: 'free' | 'live' | 'untouched',
  ): Promise<{ readonly problem: string | undefined; readonly isWhole: boolean }>
  /** Keeps it beside the new one until that is complete. */
  setAside(path: string): Promise<void>
  hasAside(path: string): Promise<boolean>
  /** Removes what was set aside, if anything. */
  discardAside(path: string): Promise<void>
}

export const lmdbIndexFolder: IndexFolder = {
  open: async path => openLmdbIndex(path),
  async check(path, scope, use) {
    const sizeBytes = await stat(`${path}/data.mdb`).then(
      ({ size }) => size,
      () => undefined,
    )
    // Nothing there: there is nothing to be trusted either.
    if (sizeBytes === undefined) return { problem: undefined, isWhole: true }
    const isWhole = scope === 'all' || sizeBytes <= alwaysCheckedBytesMax
    return { problem: await checkInProcess([path, isWhole ? 'all' : 'probe', use]), isWhole }
  },
  async setAside(path) {
    const aside = asideOf(path)
    // An older one is there when its successor was not complete yet: then that one has less.
    if (await exists(aside)) await rm(path, { recursive: true, force: true })
    else await rename(path, aside)
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

/** Resolves with the problem that the process tells, or with what happened to it before it told any. */
export function checkInProcess(args: readonly string[], script = checkScript): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [script, ...args], {
      stdio: ['ignore', 'pipe', 'ignore'],
      // Of the environment nothing that is secret, and nothing that loads code.
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
      // A server that stops does not wait for it.
      child.unref()
      ;(child.stdout as Socket).unref()
    }
    child.stdout.setEncoding('utf8')
    child.stdout.on('data', (text: string) => {
      output = (output + text).slice(-outputBytesMax)
      clearTimeout(timer)
      // It has nothing to do any more, whether it knows how to end or not.
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
      else if (isSilent) resolve('reading it takes forever')
      else resolve(`reading it ended with ${signal ?? `code ${code}`}`)
    })
  })
}

function answerOf(output: string): { problem: string | null } | undefined {
  const line = /^\{.*\}\n/m.exec(output)?.[0]
  return line === undefined ? undefined : JSON.parse(line)
}
