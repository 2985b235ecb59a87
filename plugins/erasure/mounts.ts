/**
 * Checks on folders before drives are made of them: is the folder a file system of its own (a new drive) or a missing mount, do drives
 * share a file system, do they belong together. Called by a start, by `server --dry-run` and when a drive is opened again.
 */
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { DriveLook } from 'svc/plugins/drive/api'

export type IsMount = (path: string) => Promise<boolean>

/** False also if the path does not exist. */
export async function isMount(path: string): Promise<boolean> {
  try {
    return (await stat(path)).dev !== (await stat(dirname(path))).dev
  } catch {
    return false
  }
}

/** Empty folders that are not file systems of their own, although drives beside them are: probably missing mounts. */
export async function missingMounts(looks: readonly DriveLook[], isMount: IsMount): Promise<string[]> {
  const mounted = await Promise.all(looks.map(async ({ path, state }) => state !== 'unusable' && (await isMount(path))))
  if (!looks.some(({ state }, index) => state === 'formatted' && mounted[index])) return []
  return looks.filter(({ state }, index) => state === 'empty' && !mounted[index]).map(({ path }) => path)
}

/** Folders that share a file system with another one, or will when they are created. Empty if it cannot be determined. */
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
  return `${path} is empty and no file system of its own, as other drives of the set are: mount it. Nothing is written to it; only an empty file system is taken as a new drive.`
}

/** Undefined if all drives belong to one deployment. The smaller groups come last: most often they are the wrong drives. */
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

/** Undefined if no drive is a copy of another. */
export function copiesProblem(looks: readonly DriveLook[]): string | undefined {
  const byId = new Map<string, string>()
  for (const { driveId, path } of looks) {
    const other = driveId === undefined ? undefined : byId.get(driveId)
    if (other !== undefined) {
      return `${other} and ${path} hold the same drive: one is a copy of the other. Remove the copy; put an empty file system there to add a new drive.`
    }
    if (driveId !== undefined) byId.set(driveId, path)
  }
  return undefined
}
