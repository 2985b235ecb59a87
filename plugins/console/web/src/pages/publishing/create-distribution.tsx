/** The questions that have to be answered before a bucket is on a domain; everything else has an editor. */
import { NativeSelect, TextInput } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { call } from '../../api/client.ts'
import { Problem } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { choicesOf } from '../../parts/choices.ts'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { LinkedText } from '../../parts/linked-text.tsx'
import { Suggestions } from '../../parts/suggestions.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { typedFolder } from '../../parts/typed-folder.ts'
import { Warnings } from '../../parts/warnings.tsx'
import { texts } from '../../texts/index.ts'
import { useOpenQuestion } from '../access/open-question.tsx'
import { openedBy } from '../distributions/opened.ts'
import { providerNamesQuery } from './queries.ts'

const words = texts.distributions

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
      keyGroup: '',
      tls: { certificate: 'none', dnsProvider: '' },
      id: '',
    },
  })
  const buckets = useQuery({
    queryKey: ['buckets', 'names'],
    queryFn: async ({ signal }) =>
      (await call('listBuckets', { query: { limit: 200 }, signal })).items.map(({ name }) => name),
  })
  const { kind, access, aliases, tls } = form.values
  const asksProvider = tls.certificate === 'auto' && aliases.some(alias => alias.startsWith('*.'))
  const maySeeProviders = useMay('admin:ManageCertificates')
  const providers = useQuery({ ...providerNamesQuery, enabled: asksProvider && maySeeProviders })
  const asksKeyGroup = kind !== 's3' && access === 'signed'
  const keyGroups = useQuery({
    queryKey: ['names', 'key-groups'],
    queryFn: async ({ signal }) => (await call('listKeyGroups', { signal })).items.map(({ id }) => id),
    enabled: asksKeyGroup,
  })
  const { ask, question } = useOpenQuestion()
  /** The one that is chosen, or one that is made. */
  const keyGroupOf = async (id: string): Promise<string> => {
    const chosen = form.getValues().keyGroup
    if (chosen !== '') return chosen
    const made = await createKeyGroup(id)
    // Where the rest fails, the next try takes it.
    form.setFieldValue('keyGroup', made)
    await Promise.all(
      [['names', 'key-groups'], ['key-groups']].map(queryKey => queryClient.invalidateQueries({ queryKey })),
    )
    return made
  }
  const create = async (isOpen: () => boolean): Promise<'declined' | 'told'> => {
    const { origin, aliases, access, tls, id } = form.getValues()
    const bodyOf = (behavior: object) => ({
      id: id.trim(),
      aliases,
      origin: { bucket: origin.bucket, pathPrefix: typedFolder(origin.pathPrefix), versionPinning: false },
      mode: kind === 's3' ? ('s3' as const) : ('website' as const),
      ...(kind !== 's3' && { defaultBehavior: { access, ...behavior, ...behaviors[kind] } }),
      tls: asksProvider ? { ...tls, challenge: 'dns-01' as const } : { certificate: tls.certificate },
    })
    const isNewGroup = asksKeyGroup && form.getValues().keyGroup === ''
    // What the server would refuse it refuses before a question is asked or a key is made.
    const planned = await call('createDistribution', {
      query: { dryRun: true },
      body: bodyOf(isNewGroup ? { access: 'deny' } : signedBy(form.getValues().keyGroup)),
    })
    const more = <Warnings warnings={planned.warnings ?? []} />
    if (!(await ask(openedBy(planned, { ...planned, enabled: false }), { more }))) return 'declined'
    const body = bodyOf(asksKeyGroup ? signedBy(await keyGroupOf(id.trim())) : {})
    const made = await call('createDistribution', { body })
    notifications.show({ color: 'teal', message: [words.published(made.id), ...(made.warnings ?? [])].join(' ') })
    await queryClient.invalidateQueries({ queryKey: ['distributions'] })
    if (isOpen()) await navigate({ to: '/distributions/$id', params: { id: made.id } })
    return 'told'
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
        withAsterisk
        {...form.getInputProps('aliases')}
        onChange={aliases => {
          const { id, aliases: before } = form.getValues()
          form.setFieldValue('aliases', aliases)
          // As long as nobody has typed another one.
          if (id === nameOf(before[0])) form.setFieldValue('id', nameOf(aliases[0]))
        }}
      />
      {kind !== 's3' && (
        <NativeSelect
          label={words.visitors}
          description={words.accessHints[form.values.access]}
          data={choicesOf(words.accesses).filter(({ value }) => value !== '' && value !== 'deny')}
          {...form.getInputProps('access')}
        />
      )}
      {asksKeyGroup && (
        <NativeSelect
          label={words.keyGroup}
          data={[{ value: '', label: words.newKeyGroup }, ...(keyGroups.data ?? [])]}
          {...form.getInputProps('keyGroup')}
          error={form.errors['defaultBehavior.signing.keyGroup']}
        />
      )}
      <NativeSelect
        label={words.certificate}
        data={choicesOf(words.certificates)}
        {...form.getInputProps('tls.certificate')}
      />
      {asksProvider && (
        <Suggestions
          label={words.dnsProvider}
          description={<LinkedText text={words.wildcardHint} />}
          required
          data={providers.data ?? []}
          {...form.getInputProps('tls.dnsProvider')}
        />
      )}
      <TextInput label={words.id} description={words.idHint} required {...form.getInputProps('id')} />
      {question}
    </FormDialog>
  )
}

const signedBy = (keyGroup: string) => (keyGroup === '' ? {} : { signing: { keyGroup } })

/** `example.test` for `*.example.test`. */
function nameOf(domain = ''): string {
  return domain
    .toLowerCase()
    .replace(/^\*\./, '')
    .replace(/[^a-z0-9._-]/g, '')
    .slice(0, 64)
}

/** Makes a group with a key that can sign, named as the distribution as far as that is free. */
async function createKeyGroup(wanted: string): Promise<string> {
  const id = await createFreeGroup(wanted)
  const body = { generate: true, algorithm: 'ed25519', storePrivateKey: true } as const
  await call('addKeyGroupKey', { params: { id }, body })
  return id
}

async function createFreeGroup(wanted: string): Promise<string> {
  for (let count = 1; ; count++) {
    const id = count === 1 ? wanted : `${wanted.slice(0, 58)}-${count}`
    try {
      await call('createKeyGroup', { body: { id } })
      return id
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'already_exists')) throw error
    }
  }
}
