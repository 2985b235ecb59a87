/** A form of HTML by which visitors of a page upload to the S3 API. */
import { NativeSelect, SimpleGrid, Text, TextInput } from '@mantine/core'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { movedErrors } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'
import { choicesOf } from '../../parts/choices.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { expiries } from '../../parts/expiries.ts'
import { answerTo, useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import { NumberInput } from '../../parts/number-input.tsx'
import { typedFolder } from '../../parts/typed-folder.ts'
import { openedByHand } from '../../texts/opened-by-hand.ts'

const words = openedByHand.postForm
const mib = 1024 ** 2
/** Maximum size of one request in S3. */
const sizeMaxBytes = 5 * 1024 ** 3

export interface PostFormProps {
  readonly bucket: string
  readonly prefix: string
  readonly onClose: () => void
}

export function PostForm({ bucket, prefix, onClose }: PostFormProps) {
  const [made, setMade] = useState<Answer<'createPostPolicy'>>()
  const form = useForm({
    initialValues: {
      target: 'prefix' as keyof typeof words.targets,
      key: prefix,
      expiresInSeconds: '3600',
      sizeMin: 1 as number | string,
      sizeMaxMiB: '' as number | string,
      contentType: '',
      successActionRedirect: '',
    },
    // What was made is of other values then.
    onValuesChange: () => setMade(undefined),
    related: [['sizeMin', 'sizeMaxMiB']],
  })
  const { ask, question } = useAskFirst()
  const { target } = form.values
  const make = async () => {
    const { expiresInSeconds, sizeMin, sizeMaxMiB, contentType, successActionRedirect } = form.getValues()
    const typed = form.getValues().key
    // Without its slash it would take every key that begins with the folder's name, beside it too.
    const key = target === 'key' ? typed : typedFolder(typed, prefix)
    // What it is made of is what is shown.
    form.setFieldValue('key', key)
    if (key === '' && !(await ask(wholeBucket))) return 'declined' as const
    const max = sizeMaxMiB === '' ? sizeMaxBytes : Math.round(Number(sizeMaxMiB) * mib)
    const body = {
      bucket,
      ...(target === 'key' ? { key } : { keyPrefix: key }),
      expiresInSeconds: Number(expiresInSeconds),
      contentLengthRange: { min: Number(sizeMin), max },
      ...typeOf(contentType.trim()),
      ...(successActionRedirect !== '' && { successActionRedirect }),
    }
    setMade(await answerTo(form, () => call('createPostPolicy', { body })))
    return 'stay' as const
  }
  const dialog = (
    <FormDialog
      title={words.title}
      size="lg"
      {...(made === undefined && { submit: words.make })}
      form={{
        setErrors: errors => form.setErrors(movedErrors(errors, path => fieldNames[path] ?? path)),
        isDirty: () => form.isDirty(),
      }}
      onSubmit={make}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        {words.hint}
      </Text>
      <SimpleGrid cols={{ base: 1, sm: 2 }}>
        <NativeSelect label={words.target} data={choicesOf(words.targets)} {...form.getInputProps('target')} />
        <TextInput
          label={target === 'key' ? words.key : words.folder}
          description={target === 'key' ? words.keyHint : words.folderHint}
          required={target === 'key'}
          {...form.getInputProps('key')}
        />
        <NumberInput label={words.sizeMin} min={0} allowDecimal={false} {...form.getInputProps('sizeMin')} />
        <NumberInput {...words.sizeMax} min={0} {...form.getInputProps('sizeMaxMiB')} />
      </SimpleGrid>
      <TextInput {...words.type} {...form.getInputProps('contentType')} />
      <TextInput {...words.redirect} {...form.getInputProps('successActionRedirect')} />
      <NativeSelect label={words.expiry} data={expiries} {...form.getInputProps('expiresInSeconds')} />
      {made !== undefined && (
        <>
          <Copyable label={words.html} text={htmlOf(made, form.values.contentType.trim())} isPrimary isMade />
          <Text size="sm">{words.until(formatDate(made.expiresAt))}</Text>
        </>
      )}
    </FormDialog>
  )
  return (
    <>
      {dialog}
      {question}
    </>
  )
}

const wholeBucket: AskedFirst = {
  title: words.wholeTitle,
  action: words.wholeConfirm,
  text: <Text size="sm">{words.wholeText}</Text>,
}

/** Fields of the body that have other names here. */
const fieldNames: Readonly<Record<string, string>> = {
  keyPrefix: 'key',
  contentLengthRange: 'sizeMaxMiB',
  'contentLengthRange.min': 'sizeMin',
  'contentLengthRange.max': 'sizeMaxMiB',
  contentTypePrefix: 'contentType',
}

const typeOf = (type: string) =>
  type === '' ? {} : type.endsWith('/') ? { contentTypePrefix: type } : { contentType: type }

const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;')

/** Empty at first: the beginning alone is no type. */
const typeInput = (beginning: string): string =>
  `  <label>${words.typeLabel(beginning)} <input name="Content-Type" required pattern="${beginning}.+" placeholder="${beginning}…"></label>`

/** The file comes last: what follows it is not read. Which type of a kind it has, the visitor says. */
function htmlOf({ url, fields }: Answer<'createPostPolicy'>, contentType: string): string {
  const inputs = Object.entries(fields).map(
    ([name, value]) => `  <input type="hidden" name="${escaped(name)}" value="${escaped(value)}">`,
  )
  return [
    // Else the browser sends the names of files in the character set of the page.
    `<form action="${escaped(url)}" method="post" enctype="multipart/form-data" accept-charset="utf-8">`,
    ...inputs,
    ...(contentType.endsWith('/') ? [typeInput(escaped(contentType))] : []),
    '  <input type="file" name="file" required>',
    '  <button>Upload</button>',
    '</form>',
  ].join('\n')
}
