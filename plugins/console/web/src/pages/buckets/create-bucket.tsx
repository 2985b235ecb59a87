/** All but the encryption is one request; without its encryption the bucket is taken back. */
import { Alert, Checkbox, TextInput } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { notifications } from '@mantine/notifications'
import { useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import { movedErrors } from '../../api/problem.ts'
import { BytesInput } from '../../parts/bytes-input.tsx'
import { type Encryption, EncryptionInput, saveEncryption } from '../../parts/encryption-input.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { objectOf, type Pair } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { useRights } from '../../parts/rights.ts'
import { bucketContent } from '../../texts/bucket-content.ts'
import { texts } from '../../texts/index.ts'

const words = texts.buckets

const initialValues = {
  name: '',
  versioning: false,
  objectLock: false,
  quotaBytes: 0,
  encryption: { algorithm: 'none' } as Encryption,
  tags: [] as readonly Pair[],
}

/** Whoever may make buckets of certain names alone is asked about them when one is typed. */
const anyName = 'a-new-bucket'

export function CreateBucket({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({ initialValues })
  const { name, versioning, objectLock, quotaBytes, encryption, tags } = form.values
  const errors = form.errors as Readonly<Record<string, string>>
  const [asked] = useDebouncedValue(name.trim(), 300)
  const rights = [useRights(anyName), useRights(asked === '' ? anyName : asked)]
  const may = (action: string) => rights.some(one => one.has(action))
  /** The name of the bucket, where it exists and not all that was wanted could be set. */
  const [made, setMade] = useState<string>()

  const tried = useRef<Tried>({ encryption: false, tags: false })

  const create = async () => {
    if (made === undefined) {
      await call('createBucket', { body: bodyOf(form.getValues()) })
      tried.current.tags = tags.length > 0
      // With its encryption, or not at all.
      try {
        await setEncryption(name.trim(), encryption, tried.current)
      } catch (error) {
        if (!(await isTakenBack(name.trim()))) setMade(name.trim())
        await queryClient.invalidateQueries({ queryKey: ['buckets'] })
        throw error
      }
    } else {
      await setRest(name.trim(), encryption, tags, tried.current)
    }
    notifications.show({ color: 'teal', message: words.created(name.trim()) })
    await queryClient.invalidateQueries({ queryKey: ['buckets'] })
  }
  return (
    <FormDialog
      form={{
        setErrors: given =>
          form.setErrors(movedErrors(given, path => (ofEncryption.has(path) ? `encryption.${path}` : path))),
        isDirty: () => form.isDirty(),
      }}
      title={words.create}
      submit={made === undefined ? texts.common.create : texts.common.retry}
      onSubmit={create}
      onClose={onClose}
    >
      {made !== undefined && <Alert color="orange">{words.createdInPart(made)}</Alert>}
      {made === undefined && (
        <>
          <TextInput
            label={words.name}
            description={words.nameHint}
            required
            autoComplete="off"
            data-autofocus
            {...form.getInputProps('name')}
          />
          {may('s3:PutBucketVersioning') && (
            <Checkbox
              label={words.versioning}
              {...form.getInputProps('versioning', { type: 'checkbox' })}
              disabled={objectLock}
              checked={versioning || objectLock}
            />
          )}
          {may('s3:PutBucketVersioning') && may('s3:PutBucketObjectLockConfiguration') && (
            <Checkbox label={words.objectLock} {...form.getInputProps('objectLock', { type: 'checkbox' })} />
          )}
          {may('admin:SetBucketQuota') && (
            <BytesInput
              label={words.quota}
              description={`${bucketContent.quota.hint} ${bucketContent.quota.parts}`}
              value={quotaBytes}
              {...form.getInputProps('quotaBytes')}
            />
          )}
        </>
      )}
      {may('s3:PutEncryptionConfiguration') && (
        <EncryptionInput
          label={texts.bucket.encryption}
          value={encryption}
          errors={{
            algorithm: errors['encryption.algorithm'],
            kmsKeyId: errors['encryption.kmsKeyId'],
          }}
          onChange={value => form.setFieldValue('encryption', value)}
        />
      )}
      {may('s3:PutBucketTagging') && (
        <PairsInput
          of={texts.bucket.tag}
          label={texts.bucket.tags}
          value={tags}
          errors={errors}
          path="tags"
          onChange={value => form.setFieldValue('tags', value)}
        />
      )}
    </FormDialog>
  )
}

/** Fields of the request for the encryption, which in this form is a part. */
const ofEncryption = new Set(['algorithm', 'kmsKeyId'])

function bodyOf({ name, versioning, objectLock, quotaBytes, tags: pairs }: typeof initialValues) {
  const tags = objectOf(pairs, '/tags')
  return {
    name: name.trim(),
    ...((versioning || objectLock) && { versioning: true }),
    ...(objectLock && { objectLock }),
    ...(quotaBytes !== 0 && { quotaBytes }),
    ...(Object.keys(tags).length > 0 && { tags }),
  }
}

/** Settings that an earlier attempt may have stored. They are stored again, or removed if they are no longer wanted. */
interface Tried {
  encryption: boolean
  tags: boolean
}

async function setEncryption(bucket: string, encryption: Encryption, tried: Tried): Promise<void> {
  tried.encryption ||= encryption.algorithm !== 'none'
  if (tried.encryption) await saveEncryption(bucket, encryption)
}

/** Whether the bucket that was made a moment ago is gone again. It is kept where somebody has stored something in it meanwhile. */
async function isTakenBack(bucket: string): Promise<boolean> {
  try {
    await call('deleteBucket', { params: { bucket } })
    return true
  } catch {
    // The failure that comes before it is told; the bucket is then listed, with a form for what is missing.
    return false
  }
}

async function setRest(bucket: string, encryption: Encryption, tags: readonly Pair[], tried: Tried): Promise<void> {
  await setEncryption(bucket, encryption, tried)
  tried.tags ||= tags.length > 0
  if (tried.tags) await call('setBucketTags', { params: { bucket }, body: { tags: objectOf(tags) } })
}
