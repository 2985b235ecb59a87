/** Which distribution or endpoint answers a host, and why. */
import { NativeSelect, SimpleGrid, TextInput } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { formErrorsOf } from '../../api/problem.ts'
import { choicesOf } from '../../parts/choices.ts'
import { Facts } from '../../parts/facts.tsx'
import { useForm } from '../../parts/form.ts'
import { formatDate } from '../../parts/format.ts'
import { Question, QuestionDrawer } from '../../parts/question.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.resolve

type Resolution = Answer<'resolveRoute'>

export function ResolveHost({ onClose }: { onClose: () => void }) {
  const form = useForm({
    initialValues: { host: '', path: '/', listener: 'web' as keyof typeof words.listeners },
  })
  const asking = useMutation({
    mutationFn: (query: typeof form.values) => call('resolveRoute', { query }),
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  return (
    <QuestionDrawer title={words.action} onClose={onClose}>
      <Question
        submit={words.ask}
        isAsking={asking.isPending}
        error={asking.error}
        setErrors={form.setErrors}
        onAsk={form.onSubmit(values => asking.mutate(values))}
        fields={
          <SimpleGrid cols={{ base: 1, sm: 3 }}>
            <TextInput label={words.host} required data-autofocus {...form.getInputProps('host')} />
            <TextInput label={words.path} {...form.getInputProps('path')} />
            <NativeSelect
              label={words.listener}
              data={choicesOf(words.listeners)}
              {...form.getInputProps('listener')}
            />
          </SimpleGrid>
        }
      >
        {asking.data !== undefined && <Facts facts={factsOf(asking.data)} />}
      </Question>
    </QuestionDrawer>
  )
}

function factsOf(found: Resolution): [string, string | undefined][] {
  const { match, reason, distribution, enabled, alias, bucket, behavior, certificate, shadowed } = found
  return [
    [words.result, words.answers[match]],
    [words.reason, reason],
    [words.distribution, distribution !== undefined && enabled === false ? words.off(distribution) : distribution],
    [words.alias, alias],
    [words.bucket, bucket],
    [words.behavior, behavior && words.behaviorIs(behavior.index, behavior.access)],
    [
      words.certificate,
      certificate &&
        `${certificate.id}: ${certificate.state}${certificate.notAfter === '' ? '' : `, ${formatDate(certificate.notAfter)}`}`,
    ],
    [words.shadowed, shadowed.map(other => `${other.distribution} (${other.alias})`).join(', ')],
  ]
}
