/**
 * The identity of a drive: `format.json` in its folder, written once when the drive is created. Read at each start and by
 * `--dry-run`.
 */
import { crc32 } from '@node-rs/crc32'
import type { Random } from 'svc/kernel'
import type { Disk } from './disk.ts'
import { driveErrors } from './errors.ts'

export const formatVersion = 1

export interface DriveFormat {
  readonly deploymentId: string
  readonly driveId: Buffer
  /** The secret from which the salts of journal segments are derived. */
  readonly journalKey: Buffer
}

interface FormatDocument {
  readonly format: 'svc-drive'
  readonly version: number
  readonly deploymentId: string
  readonly driveId: string
  readonly journalKey: string
  /** crc32 of the preceding fields, joined by newlines. */
  readonly check: number
}

/** Files that file systems and operators put into a folder; they do not prevent a new drive there. */
const ignorable = new Set(['lost+found', '.DS_Store', 'lock', 'lock-journal'])
const fileBytesMax = 65_536

/**
 * Reads the format of the drive at `path`, or creates it when the folder is empty or missing, for `deploymentId` or a new
 * deployment. A drive of another deployment is refused with `drive_of_other_deployment`.
 */
export async function openFormat(
  disk: Disk,
  random: Random,
  path: string,
  deploymentId?: string,
): Promise<DriveFormat> {
  const found = await findFormat(disk, path)
  if (found === undefined) return createFormat(disk, random, path, deploymentId)
  if (deploymentId !== undefined && found.deploymentId !== deploymentId) {
    throw driveErrors.drive_of_other_deployment(
      `The drive ${path} belongs to deployment ${found.deploymentId}, not to ${deploymentId}. Name the drives of one deployment, or an empty folder.`,
    )
  }
  return found
}

/**
 * The format of an existing folder; undefined when it may become a new drive. Throws `drive_foreign`, `drive_too_new` or
 * `format_damaged`.
 */
export async function findFormat(disk: Disk, path: string): Promise<DriveFormat | undefined> {
  const file = `${path}/format.json`
  if (await disk.exists(file)) return readFormat(disk, file)
  const names = await disk.list(path)
  // A first start that was interrupted leaves the folders, empty, and the temporary file.
  const foreign = names.filter(
    name => !ignorable.has(name) && !['blobs', 'journal', 'index', 'format.new'].includes(name),
  )
  const used: string[] = []
  for (const folder of ['journal', 'blobs']) {
    if (names.includes(folder) && (await disk.list(`${path}/${folder}`)).length > 0) used.push(folder)
  }
  if (foreign.length > 0 || used.length > 0) {
    throw driveErrors.drive_foreign(
      `${path} is not empty and has no format.json (found ${[...foreign, ...used].slice(0, 3).join(', ')}). Name an empty folder.`,
    )
  }
  return undefined
}

async function createFormat(
  disk: Disk,
  random: Random,
  path: string,
  deploymentId: string | undefined,
): Promise<DriveFormat> {
  const uuid = () =>
    random
      .bytes(16)
      .toString('hex')
      .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  const fields = {
    format: 'svc-drive',
    version: formatVersion,
    deploymentId: deploymentId ?? uuid(),
    driveId: uuid(),
    journalKey: random.bytes(32).toString('hex'),
  } as const
  const document: FormatDocument = { ...fields, check: checkOf(fields) }
  const bytes = Buffer.from(`${JSON.stringify(document, undefined, 2)}\n`)
  await disk.makeDirectory(`${path}/journal`)
  await disk.makeDirectory(`${path}/blobs`)
  const temporary = `${path}/format.new`
  const file = await disk.open(temporary, { mode: 'create' })
  try {
    await file.truncate(0)
    await file.write(bytes, 0, bytes.length, 0)
    await file.datasync()
  } finally {
    await file.close()
  }
  await disk.rename(temporary, `${path}/format.json`)
  await disk.syncDirectory(path)
  return decode(document)
}

async function readFormat(disk: Disk, path: string): Promise<DriveFormat> {
  const file = await disk.open(path, { mode: 'read' })
  let text: string
  try {
    const bytes = Buffer.alloc(Math.min(await file.size(), fileBytesMax))
    text = bytes.toString('utf8', 0, await file.read(bytes, 0, bytes.length, 0))
  } finally {
    await file.close()
  }
  let document: Partial<FormatDocument>
  try {
    document = JSON.parse(text)
  } catch (error) {
    throw driveErrors.format_damaged(`${path} is not valid JSON.`, { cause: error })
  }
  if (document.format !== 'svc-drive' || typeof document.version !== 'number') {
    throw driveErrors.drive_foreign(`${path} does not describe a drive of this server.`)
  }
  if (document.version > formatVersion) {
    throw driveErrors.drive_too_new(
      `${path} has format version ${document.version}; this release knows ${formatVersion}.`,
    )
  }
  if (document.check !== checkOf(document as FormatDocument)) {
    throw driveErrors.format_damaged(`${path} does not match its checksum.`)
  }
  return decode(document as FormatDocument)
}

function checkOf(fields: Omit<FormatDocument, 'check'>): number {
  return crc32([fields.format, fields.version, fields.deploymentId, fields.driveId, fields.journalKey].join('\n'))
}

function decode(document: FormatDocument): DriveFormat {
  return {
    deploymentId: document.deploymentId,
    driveId: Buffer.from(document.driveId.replaceAll('-', ''), 'hex'),
    journalKey: Buffer.from(document.journalKey, 'hex'),
  }
}
