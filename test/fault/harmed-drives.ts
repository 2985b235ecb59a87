/** The folders of a set's drives, and what may happen to them: taken away and given back, emptied, damaged in places, write-protected. */
import {
  chmodSync,
  closeSync,
  existsSync,
  globSync,
  mkdirSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'

export type Harm = 'away' | 'emptied' | 'blobs flipped' | 'journal flipped' | 'read-only'

export interface HarmedDrives {
  /** By number, from 1. */
  readonly harmed: ReadonlyMap<number, Harm>
  path(number: number): string
  /** Everything but `away` only while no server runs. Returns what was done. */
  harm(number: number, harm: Harm): string
  /** Ends what can be ended from outside: folders come back, and may be written. What is lost or damaged stays so. */
  giveBack(): void
  /** What an operator does with a drive that cannot be opened any more. Only while no server runs. */
  replace(number: number): void
  /** Everything has all of its shards. */
  forget(): void
  /** Names of the files with larger bodies, on all drives. */
  blobs(): string[]
}

const flipsMax = 8
const pageBytes = 4096
const journalTailBytes = 65_536

/** Where the zeros at its end begin, by pages. */
function writtenBytesOf(file: string): number {
  const bytes = readFileSync(file)
  let length = bytes.length
  while (length >= pageBytes && bytes.subarray(length - pageBytes, length).every(byte => byte === 0))
    length -= pageBytes
  return length
}

/** Whether the segment has more than its header: else it is only prepared. */
function isBegun(segment: string): boolean {
  return writtenBytesOf(segment) > pageBytes
}

function flipBit(file: string, at: number, bit: number): void {
  const byte = Buffer.alloc(1)
  const opened = openSync(file, 'r+')
  readSync(opened, byte, 0, 1, at)
  byte[0]! ^= 1 << bit
  writeSync(opened, byte, 0, 1, at)
  closeSync(opened)
}

/** `random`: of [0, 1). Chooses which files are damaged, and where. */
export function createHarmedDrives(folder: string, random: () => number): HarmedDrives {
  const harmed = new Map<number, Harm>()
  const path = (number: number) => join(folder, `d${number}`)
  const below = (max: number) => Math.floor(random() * max)
  // Of a server that runs, a file may go at any moment.
  const filesOf = (number: number, pattern: string) =>
    globSync(pattern, { cwd: path(number) })
      .sort()
      .map(name => join(path(number), name))
      .filter(file => statSync(file, { throwIfNoEntry: false })?.isFile())

  /** Some bits of what was written, some of them in the last `tailBytes`: behind it there may be nothing but zeros. */
  function flip(files: readonly string[], tailBytes: number): string {
    const written = files.map(file => ({ file, length: writtenBytesOf(file) }))
    const total = written.reduce((sum, { length }) => sum + length, 0)
    const places: string[] = []
    for (let count = total === 0 ? 0 : 1 + below(flipsMax); count > 0; count--) {
      let at = tailBytes > 0 && random() < 0.5 ? total - 1 - below(Math.min(tailBytes, total)) : below(total)
      for (const { file, length } of written) {
        if (at >= length) at -= length
        else {
          flipBit(file, at, below(8))
          places.push(`${file.slice(folder.length + 1)} at ${at}`)
          break
        }
      }
    }
    return places.join(', ')
  }

  function empty(number: number): void {
    rmSync(path(number), { recursive: true })
    mkdirSync(path(number))
  }

  function protect(number: number, mode: number): void {
    for (const name of ['.', 'blobs', 'blobs/*', 'journal', 'index']) {
      for (const found of globSync(name, { cwd: path(number) })) chmodSync(join(path(number), found), mode)
    }
  }

  return {
    harmed,
    path,
    harm(number, harm) {
      harmed.set(number, harm)
      let places = ''
      if (harm === 'away') renameSync(path(number), `${path(number)}.away`)
      else if (harm === 'emptied') empty(number)
      else if (harm === 'read-only') protect(number, 0o555)
      else if (harm === 'blobs flipped') places = flip(filesOf(number, 'blobs/*/*'), 0)
      // The end of the journal is what a start reads.
      else places = flip(filesOf(number, 'journal/*').filter(isBegun), journalTailBytes)
      return `d${number} ${harm}${places === '' ? '' : `: ${places}`}`
    },
    giveBack() {
      for (const [number, harm] of harmed) {
        if (harm === 'away' && existsSync(`${path(number)}.away`)) renameSync(`${path(number)}.away`, path(number))
        if (harm === 'read-only') protect(number, 0o755)
      }
    },
    replace: empty,
    forget: () => harmed.clear(),
    blobs: () => [1, 2, 3, 4].flatMap(number => filesOf(number, 'blobs/*/*')),
  }
}
