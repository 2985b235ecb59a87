/** Folders of tests. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/**
 * A folder with these folders in it, removed at the end of the test, after all functions that the test passes to `teardown` later. For servers' data:
 * tap removes `temporaryFolder(t)` before the test's own teardowns, under a server that still runs, and when the server writes at that moment,
 * the removal fails and nothing stops the server.
 */
export function temporaryFolder(t: { teardown(work: () => void): void }, ...inside: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), 'svc-test-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  for (const name of inside) mkdirSync(join(folder, name))
  return folder
}
