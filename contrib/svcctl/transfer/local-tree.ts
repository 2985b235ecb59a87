/**
 * Files below a folder in the order in which S3 lists their keys, so that the two can be compared as they come. Keys are
 * normalized (NFC), as the server does, and as file systems of different systems do not.
 */
import { lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { compareKeys } from '../s3/listing.ts'
import { unfinishedPattern } from './local-name.ts'

export interface LocalFile {
  /** Relative, with slashes. */
  readonly key: string
  readonly path: string
  readonly sizeBytes: number
  readonly modifiedMs: number
}

export interface Skipped {
  readonly path: string
  readonly reason: string
  /** A file that should have been there; the others (links, sockets) are never copied. */
  readonly isFailure: boolean
}

/** Holds the names of one folder per level. Links are not followed: they may lead outside, or in circles. */
export async function* walkFiles(
  folder: string,
  onSkip: (skipped: Skipped) => void,
  prefix = '',
): AsyncGenerator<LocalFile> {
  const entries = await readdir(folder, { withFileTypes: true })
  const named = entries.map(entry => ({ entry, key: entry.name.normalize('NFC') + (entry.isDirectory() ? '/' : '') }))
  named.sort((a, b) => compareKeys(a.key, b.key))
  for (const { entry, key } of named) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) yield* walkFiles(path, onSkip, prefix + key)
    else if (!entry.isFile()) {
      onSkip({ path, reason: entry.isSymbolicLink() ? 'is a link' : 'is no file', isFailure: false })
    } else if (!unfinishedPattern.test(entry.name)) {
      const found = lstatSync(path, { throwIfNoEntry: false })
      if (found !== undefined) {
        yield { key: prefix + key, path, sizeBytes: found.size, modifiedMs: found.mtimeMs }
      } else {
        // Deleted in the meantime, or a name that is not UTF-8 and was therefore read wrong.
        const isOurs = entry.name.includes('\ufffd')
        onSkip({ path, reason: isOurs ? 'has a name that is not UTF-8' : 'has gone', isFailure: isOurs })
      }
    }
  }
}
