/** What would be answered now, key by key, and by which rule. */
import { Anchor, NativeSelect, SimpleGrid, Table, Text, TextInput } from '@mantine/core'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { Fragment } from 'react'
import { call, withoutEmpty } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { useMay } from '../../app/signed-in.ts'
import { choicesOf } from '../../parts/choices.ts'
import { useForm } from '../../parts/form.ts'
import { Name } from '../../parts/name.tsx'
import { State } from '../../parts/names.tsx'
import { Question, QuestionDrawer, Reasons } from '../../parts/question.tsx'
import { TagsInput } from '../../parts/tags-input.tsx'
import { accessRuleTexts } from '../../texts/access-rules.ts'
import type { Rule } from './access.tsx'

const words = accessRuleTexts

export interface TestRulesProps {
  readonly bucket: string
  /** A draft of all rules; absent: those that are stored. Throws where it is not complete. */
  readonly draft?: () => readonly Rule[]
  readonly onClose: () => void
}

export function TestRules({ bucket, draft, onClose }: TestRulesProps) {
  const actions = useActions()
  const form = useForm({
    initialValues: {
      keys: [] as string[],
      action: 'read',
      principal: '',
      ip: '',
      host: '',
      method: '',
      referer: '',
      secure: '',
    },
  })
  const test = useMutation({
    mutationFn: () => {
      const { keys, secure, ...given } = form.getValues()
      const body = {
        ...withoutEmpty(given),
        ...(keys.length > 0 && { keys }),
        ...(secure !== '' && { secure: secure === 'true' }),
        ...(draft !== undefined && { rules: [...draft()] }),
      }
      return call('testAccessRules', { params: { bucket }, body })
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  return (
    <QuestionDrawer title={words.testTitle} onClose={onClose}>
      <Question
        submit={words.test}
        isAsking={test.isPending}
        error={test.error}
        setErrors={form.setErrors}
        onAsk={form.onSubmit(() => test.mutate())}
        fields={
          <>
            <Text size="sm" c="dimmed">
              {draft === undefined ? words.testHint : words.testDraftHint}
            </Text>
            <Elsewhere bucket={bucket} />
            <TagsInput label={words.keys} data-autofocus {...form.getInputProps('keys')} />
            <SimpleGrid cols={{ base: 1, sm: 2 }}>
              <NativeSelect label={words.action} data={actions} {...form.getInputProps('action')} />
              <TextInput {...words.principal} {...form.getInputProps('principal')} />
              <TextInput label={words.ip} {...form.getInputProps('ip')} />
              <TextInput label={words.host} {...form.getInputProps('host')} />
              <TextInput label={words.referer} {...form.getInputProps('referer')} />
              <TextInput label={words.method} {...form.getInputProps('method')} />
              <NativeSelect label={words.secure} data={choicesOf(words.secures)} {...form.getInputProps('secure')} />
            </SimpleGrid>
          </>
        }
      >
        {test.data !== undefined && <Results results={test.data.results} />}
      </Question>
    </QuestionDrawer>
  )
}

/** Those that rules are about. */
function useActions() {
  const { data = [] } = useQuery({
    queryKey: ['policy-actions'],
    queryFn: async ({ signal }) => (await call('listPolicyActions', { signal })).items,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const items = data
    .filter(({ action, level }) => action.startsWith('s3:') && (level === 'object' || listings.has(action)))
    .map(({ action }) => action)
  return [
    { group: words.kinds, items: choicesOf(words.testKinds) },
    { group: words.singleActions, items },
  ]
}

const listings: ReadonlySet<string> = new Set([
  's3:ListBucket',
  's3:ListBucketVersions',
  's3:ListBucketMultipartUploads',
])

/** Distributions of the bucket, which have tests of their own. */
function Elsewhere({ bucket }: { bucket: string }) {
  const { data = [] } = useQuery({
    queryKey: ['distributions', bucket, 'of-bucket'],
    queryFn: async ({ signal }) => (await call('listDistributions', { query: { bucket }, signal })).items,
    enabled: useMay('admin:ManageDistributions'),
  })
  if (data.length === 0) return null
  return (
    <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
      {words.testElsewhere}{' '}
      {data.map(({ id }, index) => (
        <Fragment key={id}>
          {index > 0 && ', '}
          <Anchor
            component={Link}
            to="/distributions/$id"
            underline="always"
            inherit
            {...({ params: { id }, search: { tab: 'test' } } as object)}
          >
            {id}
          </Anchor>
        </Fragment>
      ))}
    </Text>
  )
}

function Results({ results }: Pick<Answer<'testAccessRules'>, 'results'>) {
  return (
    <Reasons label={words.result} heads={[words.keys, words.result, words.ruleColumn]}>
      {results.map(({ key, allowed, reason, rules }) => (
        <Table.Tr key={key}>
          <Table.Td style={{ overflowWrap: 'anywhere' }}>
            <Name>{key}</Name>
          </Table.Td>
          <Table.Td>
            <State text={allowed ? words.allowed : words.denied} is={allowed ? 'good' : 'bad'} />
            <Text size="xs">{reason}</Text>
          </Table.Td>
          <Table.Td>
            {rules.map(({ id, matched, mismatch = '', condition = '' }) => (
              <Text key={id} size="xs" {...(!matched && { c: 'dimmed' })}>
                {matched ? words.fits(id) : words.fitsNot(id, condition === '' ? mismatch : condition)}
              </Text>
            ))}
          </Table.Td>
        </Table.Tr>
      ))}
    </Reasons>
  )
}
