/** Encryption of stored data and keys for reading: the options of `cp`, `mv`, `mirror` and `cat`. */
import type { OptionDeclaration } from '../command.ts'
import type { Context } from '../context.ts'
import { usageError } from '../errors.ts'
import { type CustomerKey, readCustomerKey } from '../s3/customer-key.ts'

export interface EncryptionOptions {
  /** Headers of the encryption request. */
  readonly sse?: Readonly<Record<string, string>>
  /** Paths of key files. */
  readonly sseC?: string
  readonly sseCSource?: string
}

export interface Encryption {
  /** Headers of the request that begins to write an object, without those of a customer's key. */
  readonly headers: Readonly<Record<string, string>>
  /** Options for writes. */
  readonly targetKey: CustomerKey | undefined
  /** Options for copies. */
  readonly sourceKey: CustomerKey | undefined
  /** Options for reads into files and streams, for which one option is enough. */
  readonly readKey: CustomerKey | undefined
}

const prefix = 'x-amz-server-side-encryption'

function parseSse(text: string): Readonly<Record<string, string>> {
  if (text === 's3') return { [prefix]: 'AES256' }
  if (text === 'kms') return { [prefix]: 'aws:kms' }
  const key = /^kms:([\x21-\x7e]{1,2048})$/.exec(text)?.[1]
  if (key === undefined) throw new RangeError('is neither s3, kms nor kms:KEY')
  return { [prefix]: 'aws:kms', [`${prefix}-aws-kms-key-id`]: key }
}

/** Options of all commands that read. */
export const customerKeyOption: OptionDeclaration = {
  flags: '--sse-c <file>',
  summary: 'a key of your own (SSE-C): 32 bytes, or a line of base64',
}

export const encryptionOptions: readonly OptionDeclaration[] = [
  { flags: '--sse <kind>', summary: 'how the server encrypts: s3, kms or kms:KEY', parse: parseSse },
  customerKeyOption,
  { flags: '--sse-c-source <file>', summary: 'the key of the source, if it differs or the copy has none' },
]

/** Throws a usage error or a system error if a file holds no key. */
export function encryptionOf({ path }: Pick<Context, 'path'>, options: EncryptionOptions): Encryption {
  const { sse, sseC, sseCSource } = options
  if (sse !== undefined && sseC !== undefined) throw usageError('Use either --sse or --sse-c, not both.')
  const targetKey = sseC === undefined ? undefined : readCustomerKey(path(sseC))
  const sourceKey = sseCSource === undefined ? undefined : readCustomerKey(path(sseCSource))
  return { headers: sse ?? {}, targetKey, sourceKey, readKey: sourceKey ?? targetKey }
}
