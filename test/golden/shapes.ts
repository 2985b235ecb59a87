/** The drives of each golden fixture, and how a server is started on them: for the generator and for the test. */
import { join } from 'node:path'

export interface Shape {
  readonly name: string
  /** The arguments that name drives, relative to the folder of the drives. */
  readonly drives: readonly string[]
  /** SVC_… variables beside the root credentials, which are those of test/wire/server.ts. */
  readonly environment: Readonly<Record<string, string>>
  /** Whether there is a master key, so that objects can be encrypted. */
  readonly encrypts: boolean
}

/** Public, as everything in the fixtures. */
const masterKey = `golden:${Buffer.alloc(32, 'golden fixture master key').toString('base64')}`
/** Small files, so that fixtures are small; no work in the background that changes a drive while it is looked at. */
const common = { SVC_DRIVE_SEGMENT_BYTES: '4MiB', SVC_SSEC_ALLOW_INSECURE: 'true' }
const withKey = { ...common, SVC_KMS_SECRET_KEY: masterKey }

export const shapes: readonly Shape[] = [
  { name: 'single', drives: ['drive'], environment: common, encrypts: false },
  { name: 'set', drives: ['d{1...4}'], environment: common, encrypts: false },
  { name: 'pools', drives: ['d{1...4}', 'e{1...3}'], environment: common, encrypts: false },
  { name: 'encrypted', drives: ['drive'], environment: withKey, encrypts: true },
]

export const drivesOf = (shape: Shape, folder: string): string[] => shape.drives.map(drive => join(folder, drive))

/** The key of a customer (SSE-C) that some objects are encrypted with. */
export const customerKey = Buffer.alloc(32, 'golden fixture customer key')

export const member = { accessKeyId: 'golden-member', secretAccessKey: 'golden-member-secret' }
export const service = { accessKeyId: 'goldenservicekey', secretAccessKey: 'golden-service-secret' }
export const bucketNames = ['golden-plain', 'golden-versions', 'golden-locked', 'golden-settings'] as const
