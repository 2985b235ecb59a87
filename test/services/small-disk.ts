/** A file system of its own that can be filled to the last byte. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'

export interface SmallDisk {
  readonly folder: string
  /** Why tests that need it are skipped. */
  readonly skip: string | false
}

/** Of so many bytes, in memory; unmounted when the tests of `t` have ended. Throws where CI, as root, cannot have it. */
export function mountSmallDisk(t: Test, bytes: number): SmallDisk {
  const folder = mkdtempSync(join(tmpdir(), 'svc-small-disk-'))
  let skip: string | false = false
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${bytes}`, 'tmpfs', folder], { stdio: 'pipe' })
  } catch (error) {
    if (process.env.CI && process.getuid?.() === 0) throw error
    skip = 'a small tmpfs can be mounted by root alone'
  }
  t.teardown(() => {
    if (!skip) execFileSync('umount', ['-l', folder])
    rmSync(folder, { recursive: true, force: true })
  })
  return { folder, skip }
}
