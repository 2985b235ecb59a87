/** Who is signed in, and one's own secret key. */
import { Alert, Button, Group, Skeleton, Stack, Title } from '@mantine/core'
import { notifications } from '@mantine/notifications'
import { useMutation, useQuery } from '@tanstack/react-query'
import { call } from '../../api/client.ts'
import { formErrorsOf, Problem, problemAt } from '../../api/problem.ts'
import { useSignedIn } from '../../app/signed-in.ts'
import { useBesideFields } from '../../parts/beside-fields.ts'
import { Facts } from '../../parts/facts.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useForm } from '../../parts/form.ts'
import { formatDate } from '../../parts/format.ts'
import { LinkedText } from '../../parts/linked-text.tsx'
import { PasswordInput } from '../../parts/password-input.tsx'
import { Section } from '../../parts/section.tsx'
import { SentFields } from '../../parts/sent-fields.tsx'
import { texts } from '../../texts/index.ts'

const words = texts.account
/** An owner has at most so many keys in one answer; who has more is told by the server. */
const keysRead = 1000

export function Account() {
  const { session } = useSignedIn()
  const { accessKey, isRoot, groups } = session.identity
  return (
    <Stack maw={720}>
      <Title order={1} size="h2">
        {words.title}
      </Title>
      <Section title={accessKey}>
        <Facts
          facts={[
            [words.signedIn, formatDate(session.issuedAt)],
            [words.until, formatDate(session.expiresAt)],
            [words.groups, groups.join(', ')],
          ]}
        />
      </Section>
      {isRoot ? <Alert color="gray">{words.root}</Alert> : <OwnSecret accessKey={accessKey} />}
    </Stack>
  )
}

function OwnSecret({ accessKey }: { accessKey: string }) {
  const keys = useQuery({
    queryKey: ['own-keys'],
    queryFn: async ({ signal }) =>
      (await call('listAccessKeys', { query: { limit: keysRead }, signal })).items.map(key => key.accessKey),
  })
  if (keys.isPending) return <Skeleton h={240} />
  if (keys.data?.includes(accessKey))
    return (
      <Alert color="gray">
        <LinkedText text={words.ofKey} />
      </Alert>
    )
  return <SecretForm />
}

/** Whoever sees the form may change the key: only the current one can be what is refused. */
const isWrongSecret = (error: unknown): error is Problem => error instanceof Problem && error.code === 'access_denied'

function SecretForm() {
  const form = useForm({
    initialValues: { currentSecretKey: '', newSecretKey: '', again: '' },
    related: [['newSecretKey', 'again']],
  })
  const changing = useMutation({
    async mutationFn({ currentSecretKey, newSecretKey, again }: typeof form.values) {
      if (again !== newSecretKey) throw problemAt('/again', words.differs)
      await call('changeOwnSecretKey', { body: { currentSecretKey, newSecretKey } }).catch(error => {
        throw isWrongSecret(error) ? problemAt('/currentSecretKey', error.message) : error
      })
    },
    onSuccess() {
      notifications.show({ color: 'teal', message: words.changed })
      form.reset()
    },
    onError: error => form.setErrors(formErrorsOf(error)),
  })
  const { element, unsaid } = useBesideFields(changing.error, form.setErrors)
  return (
    <Section title={words.secret} hint={words.secretHint}>
      <form {...element} onSubmit={form.onSubmit(values => changing.mutate(values))}>
        <SentFields isSending={changing.isPending}>
          {unsaid !== null && <ProblemAlert error={unsaid} />}
          <PasswordInput
            label={words.current}
            autoComplete="current-password"
            required
            {...form.getInputProps('currentSecretKey')}
          />
          <PasswordInput
            label={words.next}
            description={words.nextHint}
            autoComplete="new-password"
            required
            {...form.getInputProps('newSecretKey')}
          />
          <PasswordInput label={words.again} autoComplete="new-password" required {...form.getInputProps('again')} />
          <Group>
            <Button type="submit" loading={changing.isPending}>
              {words.change}
            </Button>
          </Group>
        </SentFields>
      </form>
    </Section>
  )
}
