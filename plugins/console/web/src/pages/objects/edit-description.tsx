/** What goes along with the bytes of an object: headers, metadata, tags. */
import { Text, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { call } from '../../api/client.ts'
import type { ObjectDetails } from '../../api/operations.ts'
import { useAskFirst } from '../../parts/ask-first.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { objectOf, pairsOf } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { texts } from '../../texts/index.ts'
import { bucketQuery, versioningOf } from './queries.ts'

export interface EditDescriptionProps {
  readonly bucket: string
  readonly details: ObjectDetails
  /** Set for an old version, of which only the tags can be changed. */
  readonly versionId: string | undefined
  readonly mayWrite: boolean
  readonly mayTag: boolean
  readonly onClose: () => void
}

const headers = ['contentType', 'contentEncoding', 'contentLanguage', 'contentDisposition', 'cacheControl'] as const
const labels = { ...texts.objects, contentType: texts.objects.type }

export function EditDescription(props: EditDescriptionProps) {
  const { bucket, details, versionId, mayWrite, mayTag, onClose } = props
  const queryClient = useQueryClient()
  const before = {
    ...(Object.fromEntries(headers.map(name => [name, details[name] ?? ''])) as Record<
      (typeof headers)[number],
      string
    >),
    userMetadata: pairsOf(details.userMetadata),
    tags: pairsOf(details.tags),
  }
  const form = useForm({ initialValues: before })
  const isLocked = useQuery(bucketQuery(bucket)).data?.objectLockEnabled === true
  // Of the tags that the form began with, even if the object is read again meanwhile.
  const [{ tagsEtag, metadataEtag }] = useState(details)
  /** What an attempt has stored, before its tags were refused: again it would be one more version. */
  const described = useRef('')
  const { ask, question } = useAskFirst()
  /**
   * A version that was kept stays as it is where no more are: the changed one takes the place of what was stored while none were. Returns what
   * is said about that.
   */
  const whatIsLost = async () => {
    if (details.versionId === 'null') return undefined
    const versioning = await versioningOf(queryClient, bucket)
    if (versioning === undefined) return texts.objects.describeUnknown
    return versioning === 'suspended' ? texts.objects.describeSuspended : undefined
  }
  const canDescribe = mayWrite && versionId === undefined
  const save = async () => {
    const { tags, userMetadata, ...given } = form.values
    const params = { bucket }
    const key = details.key
    const description = {
      ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== '')),
      ...(details.expires !== undefined && { expires: details.expires }),
      userMetadata: objectOf(userMetadata, '/userMetadata'),
    }
    const wantedTags = objectOf(tags, '/tags')
    const wanted = JSON.stringify(description)
    const isDescribed = canDescribe && (form.isDirty('userMetadata') || headers.some(name => form.isDirty(name)))
    const lost = isDescribed && described.current !== wanted ? await whatIsLost() : undefined
    if (lost !== undefined) {
      const text = <Text size="sm">{lost}</Text>
      if (!(await ask({ title: texts.objects.describeTitle(details.key), action: texts.common.save, text })))
        return 'declined'
    }
    try {
      if (isDescribed && described.current !== wanted) {
        await call('setObjectMetadata', {
          params,
          query: { key },
          body: description,
          // After one's own change the content alone is as it was.
          ifMatch: described.current === '' ? (metadataEtag ?? details.etag) : details.etag,
        })
        described.current = wanted
      }
      if (mayTag && form.isDirty('tags')) {
        const query = { key, ...(!isDescribed && versionId !== undefined && { versionId }) }
        await call('setObjectTags', {
          params,
          query,
          body: { tags: wantedTags },
          ...(tagsEtag !== undefined && { ifMatch: tagsEtag }),
        })
      }
    } catch (error) {
      if (described.current === wanted) notifications.show({ color: 'orange', message: texts.objects.describedInPart })
      throw error
    } finally {
      // Where the tags alone have failed, the next attempt has to name the new ETag.
      await queryClient.invalidateQueries({ queryKey: ['object', bucket, key] })
      await queryClient.invalidateQueries({ queryKey: ['objects', bucket] })
    }
  }
  return (
    <FormDialog
      form={form}
      title={texts.objects.editTitle(details.key)}
      submit={texts.common.save}
      onSubmit={save}
      onConflict={async () => {
        onClose()
        await queryClient.invalidateQueries({ queryKey: ['object', bucket, details.key] })
      }}
      onClose={onClose}
    >
      {canDescribe && (
        <>
          {headers.map(name => (
            <TextInput key={name} label={labels[name]} {...form.getInputProps(name)} />
          ))}
          <PairsInput
            of={texts.objects.entry}
            label={texts.objects.metadata}
            hint={isLocked ? texts.objects.metadataHintLocked : texts.objects.metadataHint}
            value={form.values.userMetadata}
            errors={form.errors}
            path="userMetadata"
            onChange={value => form.setFieldValue('userMetadata', [...value])}
          />
        </>
      )}
      {mayTag && (
        <PairsInput
          of={texts.objects.tag}
          label={texts.objects.tags}
          value={form.values.tags}
          errors={form.errors}
          path="tags"
          onChange={value => form.setFieldValue('tags', [...value])}
        />
      )}
      {question}
    </FormDialog>
  )
}
