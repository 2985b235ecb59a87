/**
 * The form of an archive, version 2. Version 1 has no `documents`.
 *
 * | File | Content |
 * |---|---|
 * | `manifest.json` | format, version, time and deployment; salt; digests of the other files, and their authentication code |
 * | `iam.bin` | users, groups, access keys with their secrets, as sealed JSON |
 * | `policies.json` | named policies by name |
 * | `config.json` | settings by subsystem; of one that has a secret in it `{"sealed": …}` (earlier builds: of fewer) |
 * | `buckets/<name>.json` | settings of a bucket |
 * | `documents/<part>.json` | documents of a plugin by id, one file for each part, also an empty one; of a secret `{"sealed": …}` |
 */
import { hash } from 'node:crypto'
import type { MaybePromise, Random } from 'svc/kernel'
import { excessOf } from 'svc/plugins/admin/api'
import { canonicalJson, openSealed, SealError, seal } from 'svc/plugins/sealing/api'
import type { SettingsMap } from 'svc/plugins/settings/api'
import type { Directory } from 'svc/plugins/users/api'
import { type TSchema, Type } from 'typebox'
import { Value } from 'typebox/value'
import { type ArchiveKeys, archiveKeysOf, deriveArchiveSecret, equals, saltBytes } from './archive-keys.ts'
import { type ArchivedBucket, BucketFile } from './buckets.ts'
import { type ArchiveProblem, archiveErrors, invalidArchive } from './errors.ts'
import { openSecrets, sealSecrets } from './part-secrets.ts'
import { type ArchivedParts, fileOfPart } from './parts.ts'
import { filesMax, openZip, writeZip, type ZipContents } from './zip-file.ts'

const format = 'svc-cluster-archive'
const version = 2
const oldestVersion = 1
const nonceBytes = 12
/** Its names have at most 140 characters each: those of buckets 63. */
const manifestBytesMax = 8 * 1024 * 1024
/** Nothing in it shows who made it before it is parsed: the salt of its authentication code is in it, and the code is one of the values. */
const manifestBounds = { valuesMax: 2 * filesMax, depthMax: 4 }

export interface ArchiveContents {
  readonly directory: Directory
  /** With plain secrets. */
  readonly settings: SettingsMap
  readonly buckets: ReadonlyMap<string, ArchivedBucket>
  /** With plain secrets. */
  readonly parts: ArchivedParts
}

export interface RootCredentials {
  readonly rootUser: string
  readonly rootPassword: string
}

const Manifest = Type.Object({
  format: Type.Literal(format),
  version: Type.Integer(),
  createdAt: Type.String(),
  server: Type.String(),
  salt: Type.String({ pattern: `^[0-9a-f]{${2 * saltBytes}}$` }),
  credentials: Type.String(),
  files: Type.Record(Type.String(), Type.String({ description: 'SHA-256, hexadecimal.' })),
  mac: Type.String(),
})

const Iam = Type.Object({
  users: Type.Record(Type.String(), Type.Object({})),
  groups: Type.Record(Type.String(), Type.Object({})),
  accessKeys: Type.Record(Type.String(), Type.Object({})),
})
const Policies = Type.Record(Type.String(), Type.Object({}))
const Config = Type.Record(
  Type.String(),
  Type.Record(Type.String(), Type.Union([Type.String(), Type.Object({ sealed: Type.String() })])),
)

const Documents = Type.Record(Type.String(), Type.Unknown())

const partFile = /^documents\/([^/]+)\.json$/
const bucketFile = /^buckets\/([^/]+)\.json$/
const iamContext = 'archive iam'
const settingContext = (subsystem: string, key: string) => `archive config\n${subsystem}\n${key}`

export interface PackOptions extends RootCredentials {
  readonly server: string
  readonly nowMs: number
  readonly random: Random
  /** Those of `settings` that hold no secret; what is not the same in both is sealed. */
  readonly open: SettingsMap
  /** Schemas of the parts, which show which fields are secrets. */
  readonly schemas: ReadonlyMap<string, TSchema>
}

/** The bytes of an archive. */
export async function packArchive({ directory, settings, buckets, parts }: ArchiveContents, options: PackOptions) {
  const { random, open: openSettings, schemas, nowMs, server } = options
  const salt = Buffer.from(random.bytes(saltBytes))
  const keys = archiveKeysOf(await deriveArchiveSecret(options, salt), salt)
  const sealText = (text: string, context: string) =>
    seal(keys.sealing, Buffer.from(text), context, random.bytes(nonceBytes))
  const { users, groups, accessKeys, policies } = directory
  const iam = { users: fromMap(users), groups: fromMap(groups), accessKeys: fromMap(accessKeys) }
  const config = Object.entries(settings).map(([name, values]) => {
    const shown = Object.entries(values).map(([key, text]) => {
      const isOpen = openSettings[name]?.[key] === text
      return [key, isOpen ? text : { sealed: sealText(text, settingContext(name, key)).toString('base64') }]
    })
    return [name, Object.fromEntries(shown)]
  })
  const files = new Map<string, Buffer>([
    ['iam.bin', sealText(canonicalJson(iam), iamContext)],
    ['policies.json', json(fromMap(policies))],
    ['config.json', json(Object.fromEntries(config))],
  ])
  for (const [name, bucket] of buckets) files.set(`buckets/${name}.json`, json(bucket))
  for (const [name, documents] of parts) {
    const sealed = [...documents].map(([id, value]) => [
      id,
      sealSecrets(schemas.get(name)!, value, [name, id], (text, context) => sealText(text, context).toString('base64')),
    ])
    files.set(fileOfPart(name), json(Object.fromEntries(sealed)))
  }
  if (files.size >= filesMax) {
    throw archiveErrors.conflict(`The archive would have more than the ${filesMax} files that an import takes.`)
  }
  const digests = Object.fromEntries([...files].map(([name, bytes]) => [name, hash('sha256', bytes, 'hex')]))
  const signed = { format, version, createdAt: new Date(nowMs).toISOString(), server, salt: salt.toString('hex') }
  const manifest = { ...signed, credentials: keys.check, files: digests }
  const mac = keys.authenticate(canonicalJson(manifest))
  return writeZip(new Map([['manifest.json', json({ ...manifest, mac })], ...files]), new Date(nowMs))
}

export interface UnpackedArchive extends ArchiveContents {
  /** Opens this archive again, also after the root credentials have changed. */
  readonly secret: Buffer
}

/**
 * Throws `invalid_archive`, and `conflict` where it was made with other root credentials. `secretOf`: the secret of the archive with this
 * salt. `take` as for `readZip`.
 */
export async function unpackArchive(
  bytes: Buffer,
  secretOf: (salt: Buffer) => MaybePromise<Buffer>,
  schemas: ReadonlyMap<string, TSchema>,
  take: (bytes: number) => void,
): Promise<UnpackedArchive> {
  const zip = await openZip(bytes, take)
  const { secret, keys, names, files } = await readManifest(zip, secretOf)
  const problems: ArchiveProblem[] = []
  const read = <T>(name: string, schema: TSchema, text: string): T | undefined => {
    const value = parse(text)
    if (value !== undefined && Value.Check(schema, value)) return value as T
    problems.push({ element: name, message: 'is not of the form that this release reads' })
    return undefined
  }
  const textOf = (name: string) => files.get(name)?.toString() ?? ''
  const iam = read<Record<'users' | 'groups' | 'accessKeys', Record<string, never>>>(
    'iam.bin',
    Iam,
    open(keys, files.get('iam.bin') ?? Buffer.alloc(0), iamContext),
  )
  const policies = read<Record<string, object>>('policies.json', Policies, textOf('policies.json'))
  const config = read<Record<string, Record<string, string | { sealed: string }>>>(
    'config.json',
    Config,
    textOf('config.json'),
  )
  const buckets = new Map<string, ArchivedBucket>()
  for (const name of names) {
    const bucket = bucketFile.exec(name)?.[1]
    if (bucket === undefined) continue
    const value = read<ArchivedBucket>(name, BucketFile, textOf(name))
    if (value !== undefined) buckets.set(bucket, value)
  }
  const parts = new Map<string, ReadonlyMap<string, unknown>>()
  for (const file of names) {
    const name = partFile.exec(file)?.[1]
    if (name === undefined) continue
    const documents = Object.entries(read<Record<string, unknown>>(file, Documents, textOf(file)) ?? {})
    const schema = schemas.get(name)
    if (schema !== undefined) {
      const opened = documents.map(([id, value]): [string, unknown] => [
        id,
        openSecrets(schema, value, [name, id], (sealed, context) => open(keys, Buffer.from(sealed, 'base64'), context)),
      ])
      parts.set(name, new Map(opened))
    } else if (documents.length > 0) problems.push({ element: file, message: 'no plugin that is loaded keeps this' })
  }
  if (problems.length > 0) throw invalidArchive(problems)
  const settings = Object.entries(config!).map(([name, values]) => {
    const opened = Object.entries(values).map(([key, value]) => [
      key,
      typeof value === 'string' ? value : open(keys, Buffer.from(value.sealed, 'base64'), settingContext(name, key)),
    ])
    return [name, Object.fromEntries(opened)]
  })
  return {
    directory: {
      users: toMap(iam!.users),
      groups: toMap(iam!.groups),
      accessKeys: toMap(iam!.accessKeys),
      policies: toMap(policies!),
    },
    settings: Object.fromEntries(settings),
    buckets,
    parts,
    secret,
  }
}

/** The files whose names and digests it lists. They are unpacked after it is known to be genuine. */
async function readManifest(zip: ZipContents, secretOf: (salt: Buffer) => MaybePromise<Buffer>) {
  const sizeBytes = zip.sizeOf('manifest.json')
  if (sizeBytes === undefined) {
    throw archiveErrors.invalid_archive('It has no manifest.json: it is no archive of a cluster.')
  }
  if (sizeBytes > manifestBytesMax) {
    throw archiveErrors.invalid_archive(`Its manifest.json has more than ${manifestBytesMax} bytes.`)
  }
  const bytes = await zip.read('manifest.json')
  if (excessOf(bytes, manifestBounds) !== undefined) throw foreignManifest()
  const manifest = parse(bytes.toString())
  if (!Value.Check(Manifest, manifest)) throw foreignManifest()
  if (manifest.version < oldestVersion || manifest.version > version) {
    throw archiveErrors.invalid_archive(
      `It has version ${manifest.version} of the format, and this release reads versions ${oldestVersion} to ${version}.`,
    )
  }
  const salt = Buffer.from(manifest.salt, 'hex')
  const secret = await secretOf(salt)
  const keys = archiveKeysOf(secret, salt)
  if (!equals(keys.check, manifest.credentials)) {
    throw archiveErrors.conflict(
      'The archive was made by a deployment with other root credentials. Start this server with those (SVC_ROOT_USER, SVC_ROOT_PASSWORD) for the import.',
    )
  }
  const { mac, ...signed } = manifest
  if (!equals(keys.authenticate(signedText(signed)), mac)) {
    throw archiveErrors.invalid_archive('Its manifest.json was changed after the export.')
  }
  const names = Object.keys(manifest.files)
  const stranger = zip.names.find(name => name !== 'manifest.json' && !Object.hasOwn(manifest.files, name))
  if (stranger !== undefined) throw invalidArchive([{ element: stranger, message: 'is not in manifest.json' }])
  const files = new Map<string, Buffer>()
  for (const name of names) {
    if (zip.sizeOf(name) === undefined) throw invalidArchive([{ element: name, message: 'is missing' }])
    const bytes = await zip.read(name)
    files.set(name, bytes)
    if (hash('sha256', bytes, 'hex') !== manifest.files[name]) {
      throw invalidArchive([{ element: name, message: 'was changed after the export' }])
    }
  }
  return { secret, keys, names, files }
}

/** Other releases may add fields, but none that have no canonical form. */
function signedText(signed: object): string {
  try {
    return canonicalJson(signed)
  } catch {
    throw foreignManifest()
  }
}

const foreignManifest = () => archiveErrors.invalid_archive('Its manifest.json is not that of a cluster archive.')

function open(keys: ArchiveKeys, sealed: Buffer, context: string): string {
  try {
    return openSealed(keys.sealing, sealed, context).toString()
  } catch (error) {
    if (error instanceof SealError) throw archiveErrors.invalid_archive('A secret in it cannot be opened.')
    throw error
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const json = (value: unknown): Buffer => Buffer.from(`${JSON.stringify(value, undefined, 2)}\n`)
/** Both treat names such as `__proto__` as ordinary names. */
const fromMap = <T>(map: ReadonlyMap<string, T>) => Object.fromEntries(map)
const toMap = <T>(record: Readonly<Record<string, T>>) => new Map(Object.entries(record))
