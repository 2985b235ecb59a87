/** The questions that have to be answered before a bucket is on a domain; everything else has an editor. */
import { NativeSelect, TextInput } from '@mantine/core'
import { useForm } from '@mantine/form'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { choicesOf } from '../../parts/choices.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { texts } from '../../texts/index.ts'
import { useOpenQuestion } from '../access/open-question.tsx'

const words = texts.distributions
const opening = texts.accessRules

const behaviors = {
  website: { indexDocument: 'index.html' },
  spa: { indexDocument: 'index.html', spaFallback: '/index.html' },
  files: {},
  s3: {},
} as const

/** `bucket`: what is offered first. */
export function CreateDistribution({ bucket = '', onClose }: { bucket?: string; onClose: () => void }) {
  const queryClient = useQueryClient()
  const navigate = useNavigate()
  const form = useForm({
    initialValues: {
      origin: { bucket, pathPrefix: '' },
      kind: 'website' as keyof typeof behaviors,
      aliases: [] as string[],
      access: 'public' as 'public' | 'signed' | 'authenticated',
      tls: { certificate: 'none' },
      id: '',
    },
  })
  const buckets = useQuery({
    queryKey: ['buckets', 'names'],
    queryFn: async ({ signal }) =>
      (await call('listBuckets', { query: { limit: 200 }, signal })).items.map(({ name }) => name),
  })
  const { kind } = form.values
  const { ask, question } = useOpenQuestion()
  const create = async (): Promise<'stay' | void> => {
    const { origin, aliases, access, tls, id } = form.getValues()
    const prefix = origin.pathPrefix.replace(/^\/+|\/+$/g, '')
    const body = {
      id: id.trim(),
      aliases,
      origin: { bucket: origin.bucket, pathPrefix: prefix === '' ? '' : `${prefix}/`, versionPinning: false },
      mode: kind === 's3' ? ('s3' as const) : ('website' as const),
      ...(kind !== 's3' && { defaultBehavior: { access, ...behaviors[kind] } }),
      tls,
    }
    if (kind !== 's3' && access === 'public') {
      // What the server would refuse it refuses before the question.
      await call('createDistribution', { query: { dryRun: true }, body })
      const effect = {
        verbs: opening.presetVerbs['public-read'],
        objects: prefix === '' ? opening.everyObjectOf(origin.bucket) : opening.objectsBelow(`${prefix}/`),
        ...(aliases.length > 0 && { limits: opening.atDomains(new Intl.ListFormat('en').format(aliases)) }),
      }
      if (!(await ask([effect]))) return 'stay'
    }
    const made = await call('createDistribution', { body })
    notifications.show({ color: 'teal', message: [words.published(made.id), ...(made.warnings ?? [])].join(' ') })
    await queryClient.invalidateQueries({ queryKey: ['distributions'] })
    await navigate({ to: '/distributions/$id', params: { id: made.id } })
    return undefined
  }
  return (
    <FormDialog
      title={words.create}
      submit={words.createSubmit}
      size="lg"
      form={form}
      onSubmit={create}
      onClose={onClose}
    >
      <Suggestions
        label={words.bucket}
        data={buckets.data ?? []}
        required
        data-autofocus
        {...form.getInputProps('origin.bucket')}
      />
      <TextInput label={words.prefix} description={words.prefixHint} {...form.getInputProps('origin.pathPrefix')} />
      <NativeSelect label={words.kind} data={choicesOf(words.kinds)} {...form.getInputProps('kind')} />
      <TagsInput
        label={words.domains}
        description={words.domainsHint}
        {...form.getInputProps('aliases')}
        onChange={aliases => {
          form.setFieldValue('aliases', aliases)
          if (form.getValues().id === '') form.setFieldValue('id', nameOf(aliases[0]))
        }}
      />
      {kind !== 's3' && (
        <NativeSelect
          label={words.visitors}
          data={choicesOf(words.accesses).filter(({ value }) => value !== '' && value !== 'deny')}
          {...form.getInputProps('access')}
        />
      )}
      <NativeSelect
        label={words.certificate}
        data={choicesOf(words.certificates)}
        {...form.getInputProps('tls.certificate')}
      />
      <TextInput label={words.id} description={words.idHint} required {...form.getInputProps('id')} />
      {question}
    </FormDialog>
  )
}

/** `example.test` for `*.example.test`. */
function nameOf(domain = ''): string {
  return domain
    .toLowerCase()
    .replace(/^\*\./, '')
    .replace(/[^a-z0-9._-]/g, '')
    .slice(0, 64)
}
