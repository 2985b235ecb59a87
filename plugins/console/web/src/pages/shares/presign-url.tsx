/** A URL for one kind of request to the S3 API, for programs and curl. */
import { NativeSelect, Stack, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { choicesOf } from '../../parts/choices.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { ExpiryInput, secondsOf } from '../../parts/expiry-input.tsx'
import { answerTo, useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import { useRights } from '../../parts/rights.ts'
import { texts } from '../../texts/index.ts'

const words = texts.presign

type Method = keyof typeof words.methods

export interface PresignUrlProps {
  readonly bucket: string
  readonly objectKey: string
  /** Absent: whatever is the current one. */
  readonly versionId?: string | undefined
  /** False where only a program that has the key of its owner can read it, with signed headers. */
  readonly isReadable?: boolean
  readonly onClose: () => void
}

const needs: Readonly<Record<Method, string>> = {
  GET: 's3:GetObject',
  HEAD: 's3:GetObject',
  PUT: 's3:PutObject',
  DELETE: 's3:DeleteObject',
}

export function PresignUrl({ bucket, objectKey, versionId, isReadable = true, onClose }: PresignUrlProps) {
  const rights = useRights(bucket, objectKey)
  const right = (method: Method) => `${needs[method]}${versionId === undefined || method === 'PUT' ? '' : 'Version'}`
  const methods = choicesOf(words.methods).filter(
    ({ value }) => rights.has(right(value)) && (isReadable || needs[value] !== needs.GET),
  )
  const form = useForm({
    initialValues: { method: methods[0]?.value ?? 'GET', key: objectKey, expiresInSeconds: '3600', fileName: '' },
    // What was made is of other values then.
    onValuesChange: () => setMade(undefined),
  })
  const [made, setMade] = useState<Answer<'presignUrl'>>()
  const make = async () => {
    const { method, key, expiresInSeconds, fileName } = form.getValues()
    const isOfVersion = versionId !== undefined && key === objectKey && method !== 'PUT'
    const body = {
      method,
      bucket,
      key,
      expiresInSeconds: secondsOf(expiresInSeconds),
      ...(isOfVersion && { versionId }),
      ...(method === 'GET' && fileName !== '' && { responseHeaders: { contentDisposition: attachment(fileName) } }),
    }
    setMade(await answerTo(form, () => call('presignUrl', { body })))
    return 'stay' as const
  }
  const { method } = form.values
  return (
    <FormDialog title={words.title} size="lg" submit={words.make} form={form} onSubmit={make} onClose={onClose}>
      <Text size="sm" c="dimmed">
        {words.hint}
      </Text>
      <NativeSelect label={words.method} data={methods} {...form.getInputProps('method')} />
      <TextInput label={words.key} required {...form.getInputProps('key')} />
      <ExpiryInput label={words.expiry} {...form.getInputProps('expiresInSeconds')} />
      {method === 'GET' && <TextInput {...words.fileName} {...form.getInputProps('fileName')} />}
      {made !== undefined && <Made made={made} />}
    </FormDialog>
  )
}

function Made({ made: { url, method, expiresAt } }: { made: Answer<'presignUrl'> }) {
  const command =
    method === 'PUT' ? `curl -T FILE '${url}'` : `curl ${method === 'GET' ? '-O ' : optionOf(method)}'${url}'`
  return (
    <Stack gap="xs">
      <TextInput label={words.url} value={url} readOnly onFocus={event => event.currentTarget.select()} />
      <Text size="sm">{words.until(formatDate(expiresAt))}</Text>
      <Copyable label={words.command} text={command} value={url} isMade />
    </Stack>
  )
}

const optionOf = (method: string): string => (method === 'HEAD' ? '-I ' : `-X ${method} `)

/** RFC 6266, with every name. */
const attachment = (name: string): string => `attachment; filename*=UTF-8''${encodeURIComponent(name)}`
