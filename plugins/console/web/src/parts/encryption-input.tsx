/** How new objects of a bucket are encrypted. */
import { NativeSelect, Stack, TextInput } from '@mantine/core'
import { useQuery } from '@tanstack/react-query'
import { call, callTagged, type Tagged } from '../api/client.ts'
import type { Answer } from '../api/operations.ts'
import { useMay } from '../app/signed-in.ts'
import { texts } from '../texts/index.ts'
import { choicesOf } from './choices.ts'
import { LinkedText } from './linked-text.tsx'

export type Encryption = Answer<'getBucketEncryption'> | { readonly algorithm: 'none'; readonly kmsKeyId?: string }

export interface EncryptionInputProps {
  /** Absent where a title says what it is. */
  readonly label?: string
  readonly value: Encryption
  /** By the fields of the body. */
  readonly errors?: { readonly [field in 'algorithm' | 'kmsKeyId']?: string | undefined }
  readonly onChange: (value: Encryption) => void
}

export function EncryptionInput({ label, value, errors = {}, onChange }: EncryptionInputProps) {
  const { algorithm, kmsKeyId = '' } = value
  // Whoever may not ask is told by the server when it is saved.
  const kms = useQuery({
    queryKey: ['kms'],
    queryFn: ({ signal }) => call('getKmsStatus', { signal }),
    enabled: useMay('admin:KMSKeyStatus'),
  })
  const hasNoKey = kms.data?.configured === false
  return (
    <Stack gap="xs">
      <NativeSelect
        {...(label === undefined ? { 'aria-label': texts.bucket.encryption } : { label })}
        data={choicesOf(texts.bucket.encryptions).map(choice => ({
          ...choice,
          disabled: hasNoKey && choice.value !== 'none' && choice.value !== algorithm,
        }))}
        {...(hasNoKey && { description: <LinkedText text={texts.bucket.noEncryptionKey} /> })}
        value={algorithm}
        error={errors.algorithm}
        onChange={event => onChange({ algorithm: event.currentTarget.value as Encryption['algorithm'] } as Encryption)}
      />
      {algorithm === 'aws:kms' && (
        <TextInput
          label={texts.bucket.key}
          description={texts.bucket.keyHint(kms.data?.defaultKeyId ?? '')}
          value={kmsKeyId}
          error={errors.kmsKeyId}
          onChange={event => onChange({ algorithm, kmsKeyId: event.currentTarget.value })}
        />
      )}
    </Stack>
  )
}

export async function saveEncryption(
  bucket: string,
  { algorithm, kmsKeyId = '' }: Encryption,
  condition: { readonly ifMatch?: string; readonly ifNoneMatch?: '*' } = {},
): Promise<Tagged<unknown>> {
  const params = { bucket }
  if (algorithm === 'none') return callTagged('deleteBucketEncryption', { params, ...condition })
  const body = { algorithm, ...(algorithm === 'aws:kms' && kmsKeyId !== '' && { kmsKeyId }) }
  return callTagged('setBucketEncryption', { params, body, ...condition })
}
