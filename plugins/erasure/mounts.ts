/** Whether folders are file systems of their own: what tells a drive that is new from one that is only not mounted. */
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DriveLook } from 'svc/plugins/drive/api'

export type IsMount = (path: string) => Promise<boolean>

/** False where it is not there. */
export async function isMount(path: string): Promise<boolean> {
  try {
    return (await stat(path)).dev !== (await stat(dirname(path))).dev
  } catch {
    return false
  }
}

/** Empty folders that are no file systems of their own, where drives beside them are. */
export async function missingMounts(looks: readonly DriveLook[], isMount: IsMount): Promise<string[]> {
  const mounted = await Promise.all(looks.map(async ({ path, state }) => state !== 'unusable' && (await isMount(path))))
  if (!looks.some(({ state }, index) => state === 'formatted' && mounted[index])) return []
  return looks.filter(({ state }, index) => state === 'empty' && !mounted[index]).map(({ path }) => path)
}

/** Folders that share a file system with another one of them, or will once they are made. Empty where it is not known. */
export async function sharedFileSystems(paths: readonly string[]): Promise<readonly string[]> {
  try {
    const devices = await Promise.all(paths.map(deviceOf))
    return paths.filter((_, index) => devices.indexOf(devices[index]!) !== devices.lastIndexOf(devices[index]!))
  } catch {
    return []
  }
}

async function deviceOf(path: string): Promise<number> {
  try {
    return (await stat(path)).dev
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return deviceOf(dirname(path))
  }
}

export function notMounted(path: string): string {
  return `${path} is empty and no file system of its own, as other drives of the set are: mount it. Only an empty file system is taken for a new drive there.`
}

/** Undefined where all drives belong together. Names the few: most often they are the wrong ones. */
export function deploymentsProblem(looks: readonly DriveLook[]): string | undefined {
  const byId = new Map<string, string[]>()
  for (const { deploymentId, path } of looks) {
    if (deploymentId !== undefined) byId.set(deploymentId, [...(byId.get(deploymentId) ?? []), path])
  }
  if (byId.size <= 1) return undefined
  const groups = [...byId.values()].sort((a, b) => b.length - a.length).map(paths => paths.join(', '))
  return (
    `The drives belong to different deployments: ${groups[0]} to one, ` +
    `${groups.slice(1).join(' and ')} to ${groups.length === 2 ? 'another one' : 'others'}. Name drives of one, or put the right disk there.`
  )
}

/** Undefined where each folder holds a drive of its own. */
export function copiesProblem(looks: readonly DriveLook[]): string | undefined {
  const byId = new Map<string, string>()
  for (const { driveId, path } of looks) {
    const other = driveId === undefined ? undefined : byId.get(driveId)
    if (other !== undefined) {
      return `${other} and ${path} hold the same drive: one is a copy of the other. Take the copy away; for a new drive there, put an empty file system.`
    }
    if (driveId !== undefined) byId.set(driveId, path)
  }
  return undefined
}
