/** What the distribution as it is edited now would do with a request. */
import { NativeSelect, SimpleGrid, Stack, Text, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { Facts } from '../../parts/facts.tsx'
import { useForm } from '../../parts/form.ts'
import { State } from '../../parts/names.tsx'
import { objectOf, type Pair } from '../../parts/pairs.ts'
import { PairsInput } from '../../parts/pairs-input.tsx'
import { Question } from '../../parts/question.tsx'
import { refusals } from '../../texts/en/refusals.ts'
import { texts } from '../../texts/index.ts'
import { usePlaces } from '../publishing/addresses.tsx'
import { type Distribution, documentOf } from './draft.ts'
import { useDraft } from './form.ts'

const words = texts.distributions

export function TestRequest({ of }: { of: Distribution }) {
  const { id } = of
  const draft = useDraft()
  const domain = draft.getValues().aliases[0]?.replace('*', 'www') ?? 'localhost'
  const place = usePlaces(of)(of.aliases[0] ?? '')
  const isPlain = place !== undefined && place !== 'none' && place.scheme === 'http'
  const form = useForm({
    initialValues: { url: '', method: 'GET', ip: '127.0.0.1', headers: [] as readonly Pair[] },
  })
  // How visitors get there is known a moment later than this is drawn.
  const url = form.isTouched('url') ? form.values.url : `http${isPlain ? '' : 's'}://${domain}/`
  const test = useMutation({
    mutationFn: () => {
      const { headers, ...request } = form.getValues()
      const asked = documentOf(draft.getValues())
      const body = { ...request, url, headers: objectOf(headers), draft: asked }
      return call('testDistribution', { params: { id }, body }).then(result => ({ result, of: JSON.stringify(asked) }))
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  // It is the answer to the draft that was asked about.
  const answer = test.data !== undefined && test.data.of === drafted(draft.getValues()) ? test.data.result : undefined
  return (
    <Question
      submit={words.test}
      isAsking={test.isPending}
      error={test.error}
      setErrors={form.setErrors}
      onAsk={form.onSubmit(() => test.mutate())}
      fields={
        <>
          <Text size="sm" c="dimmed">
            {words.testHint}
          </Text>
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput label={words.url} {...form.getInputProps('url')} value={url} />
            <NativeSelect
              label={words.method}
              data={['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE']}
              {...form.getInputProps('method')}
            />
            <TextInput label={words.ip} {...form.getInputProps('ip')} />
          </SimpleGrid>
          <PairsInput
            of={words.header}
            value={form.values.headers}
            errors={form.errors}
            path="headers"
            onChange={headers => form.setFieldValue('headers', headers)}
          />
        </>
      }
    >
      {answer !== undefined && <Result result={answer} draft={draft.getValues()} />}
    </Question>
  )
}

/** Undefined for what is typed and cannot be sent. */
function drafted(draft: Draft): string | undefined {
  try {
    return JSON.stringify(documentOf(draft))
  } catch {
    return undefined
  }
}

type Draft = ReturnType<ReturnType<typeof useDraft>['getValues']>

function Result({ result, draft }: { result: Answer<'testDistribution'>; draft: Draft }) {
  const { status, decision, behavior, bucket, source, rule, reason, redirect, restriction, responseHeaders } = result
  const place = behavior.index < 0 ? words.defaultBehavior : words.behavior(behavior.index + 1)
  const labels = words.result
  return (
    <Stack gap="xs" aria-live="polite">
      <div>
        <State
          text={`${labels.decision}: ${status}`}
          is={status < 400 ? 'good' : decision === 'deny' ? 'bad' : 'poor'}
        />
      </div>
      <Facts
        facts={[
          [labels.behavior, `${place}, ${words.accesses[behavior.access as 'public'] ?? behavior.access}`],
          [labels.object, `${bucket}/${keyOf(result, draft)}`],
          [labels.source, source],
          [labels.rule, rule],
          [labels.reason, reason === '' && status === 404 ? labels.noObject : (refusals[reason] ?? reason)],
          [labels.errorPage, status < 400 ? '' : pageOf(result, draft)],
          [labels.redirect, redirect?.location],
          [labels.restriction, restriction.allowed ? '' : restriction.reason],
        ]}
      />
      <Text size="sm" fw={600}>
        {labels.headers}
      </Text>
      <Facts facts={Object.entries(responseHeaders as Record<string, string>)} />
    </Stack>
  )
}

/** The server names none that it has not found, or not looked for: the one that was asked for, then. */
function keyOf({ key, path }: Answer<'testDistribution'>, { origin }: Draft): string {
  if (key !== '') return key
  const [asked = ''] = path.split('?')
  try {
    return origin.pathPrefix + decodeURIComponent(asked.slice(1))
  } catch {
    return origin.pathPrefix + asked.slice(1)
  }
}

function pageOf({ errorPage, status }: Answer<'testDistribution'>, { errorPages }: Draft): string {
  if (errorPage !== '') return errorPage
  const set = errorPages.find(page => Number(page.status) === status)
  return set === undefined ? words.result.ownPage : words.result.missingPage(set.path)
}
