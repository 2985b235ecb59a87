import { Alert, Anchor, Button, Skeleton, Stack, Text, TextInput, Title } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { Copyable } from '../../parts/copyable.tsx'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { Section } from '../../parts/section.tsx'
import { texts } from '../../texts/index.ts'
import { keyTexts } from '../../texts/keys.ts'
import { kmsStatusQuery } from '../overview/queries.ts'
import { problemOf } from './problem.ts'
import { Reseal } from './reseal.tsx'

type Key = Answer<'listKmsKeys'>['items'][number]

export function Keys() {
  const [isCreating, setCreating] = useState(false)
  const [isResealing, setResealing] = useState(false)
  const status = useQuery(kmsStatusQuery)
  const mayCreate = useMay('admin:KMSCreateKey')
  const mayReseal = useMay('admin:KMSReseal')
  // What is open stays so where one reading fails.
  const failure = status.error !== null && (
    <ProblemAlert error={status.error} onRetry={() => status.refetch()} isStale={status.data !== undefined} />
  )
  if (status.data === undefined) return failure || <Skeleton h={120} />
  if (!status.data.configured) {
    return (
      <Stack>
        <Title order={1} size="h2">
          {texts.keys.title}
        </Title>
        {failure || <Status status={status.data} />}
        {/* What is encrypted with a key that is missing needs that one. */}
        {problemOf(status.data) === undefined && <FirstKey />}
      </Stack>
    )
  }
  return (
    <>
      <ListPage
        title={texts.keys.title}
        actions={
          <>
            {mayReseal && (
              <Button variant="default" onClick={() => setResealing(true)}>
                {texts.keys.reseal}
              </Button>
            )}
            {mayCreate && (
              <Button leftSection={<IconPlus size={16} aria-hidden />} onClick={() => setCreating(true)}>
                {texts.keys.create}
              </Button>
            )}
          </>
        }
        head={failure || <Status status={status.data} />}
        queryKey={['kms-keys']}
        load={({ cursor, signal }) => call('listKmsKeys', { query: { cursor }, signal })}
        columns={columns}
        idOf={({ id }) => id}
        none={texts.keys.none}
      />
      {isCreating && <CreateKey onClose={() => setCreating(false)} />}
      {isResealing && <Reseal onClose={() => setResealing(false)} />}
    </>
  )
}

function Status({ status }: { status: Answer<'getKmsStatus'> }) {
  const problem = problemOf(status)
  if (problem !== undefined) {
    return (
      <Alert color="red" role="alert" styles={{ message: { overflowWrap: 'anywhere' } }}>
        {problem}
      </Alert>
    )
  }
  if (!status.configured) return <Alert color="blue">{texts.keys.notConfigured}</Alert>
  return <Alert color="teal">{texts.keys.works(status.backend, status.formerKeys)}</Alert>
}

/** On a server without keys. */
function FirstKey() {
  const words = keyTexts.firstKey
  return (
    <Section title={words.title}>
      <Text size="sm">{words.text}</Text>
      <Copyable label={words.command} text={masterKeyCommand} />
      <Text size="sm">{words.restart}</Text>
      <Text size="sm">
        {words.buckets}{' '}
        <Anchor component={Link} to="/buckets" underline="always" inherit>
          {texts.buckets.title}
        </Anchor>
      </Text>
      <Text size="sm">{words.server}</Text>
    </Section>
  )
}

const masterKeyCommand = 'echo "SVC_KMS_SECRET_KEY=default:$(openssl rand -base64 32)"'

const columns: Column<Key>[] = [
  { title: texts.common.name, render: ({ id }) => id },
  {
    title: texts.common.created,
    render: ({ createdAt }) => (createdAt === undefined ? '' : formatDate(createdAt)),
  },
  { title: texts.keys.use, render: key => key.default && <State text={texts.keys.default} is="good" /> },
]

function CreateKey({ onClose }: { onClose: () => void }) {
  const queryClient = useQueryClient()
  const form = useForm({ initialValues: { id: '' } })
  const create = async () => {
    await call('createKmsKey', { body: { id: form.getValues().id.trim() } })
    await queryClient.invalidateQueries({ queryKey: ['kms-keys'] })
  }
  return (
    <FormDialog title={texts.keys.create} submit={texts.common.create} form={form} onSubmit={create} onClose={onClose}>
      <TextInput label={texts.common.name} required data-autofocus {...form.getInputProps('id')} />
    </FormDialog>
  )
}
