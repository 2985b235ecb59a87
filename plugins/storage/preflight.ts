/** The file system checks of `server --dry-run`: whether each folder could be written to. Creates nothing. */
import { constants } from 'node:fs'
import { access, stat } from 'node:fs/promises'
import { dirname, isAbsolute } from 'node:path'

export async function checkFolders(endpoints: readonly string[]): Promise<string[]> {
  const problems: string[] = []
  for (const endpoint of endpoints) {
    if (!isAbsolute(endpoint)) continue
    const problem = await checkFolder(endpoint)
    if (problem !== undefined) problems.push(`SVC_ENDPOINTS: ${problem}`)
  }
  return problems
}

async function checkFolder(path: string): Promise<string | undefined> {
  try {
    if (!(await stat(path)).isDirectory()) return `${path} is not a folder`
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK)
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    // A missing folder is created at the start, so its nearest existing ancestor counts.
    const isMissing = code === 'ENOENT' || code === 'ENOTDIR'
    if (isMissing && dirname(path) !== path) return checkFolder(dirname(path))
    const user = process.getuid?.()
    return `${path} cannot be written${user === undefined ? '' : ` by user ${user}`} (${code})`
  }
}
