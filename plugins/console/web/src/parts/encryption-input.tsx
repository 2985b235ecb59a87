/** How new objects of a bucket are encrypted. */
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { call } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { texts } from '../texts/index.ts'
import { choicesOf } from './choices.ts'

export type Encryption = Answer<'getBucketEncryption'> | { readonly algorithm: 'none'; readonly kmsKeyId?: string }

export interface EncryptionInputProps {
  /** Absent where a title says what it is. */
  readonly label?: string
  readonly value: Encryption
  /** By the fields of the body. */
  readonly errors?: Readonly<Record<string, string>>
  readonly onChange: (value: Encryption) => void
}

export function EncryptionInput({ label, value, errors = {}, onChange }: EncryptionInputProps) {
  const { algorithm, kmsKeyId = '' } = value
  return (
    <Stack gap="xs">
      <NativeSelect
        {...(label === undefined ? { 'aria-label': texts.bucket.encryption } : { label })}
        data={choicesOf(texts.bucket.encryptions)}
        value={algorithm}
        error={errors.algorithm}
        onChange={event => onChange({ algorithm: event.currentTarget.value as Encryption['algorithm'] } as Encryption)}
      />
      {algorithm === 'aws:kms' && (
        <TextInput
          label={texts.bucket.key}
          value={kmsKeyId}
          error={errors.kmsKeyId}
          onChange={event => onChange({ algorithm, kmsKeyId: event.currentTarget.value })}
        />
      )}
    </Stack>
  )
}

export async function saveEncryption(bucket: string, { algorithm, kmsKeyId = '' }: Encryption): Promise<unknown> {
  const params = { bucket }
  if (algorithm === 'none') return call('deleteBucketEncryption', { params })
  const body = { algorithm, ...(algorithm === 'aws:kms' && kmsKeyId !== '' && { kmsKeyId }) }
  return call('setBucketEncryption', { params, body })
}
