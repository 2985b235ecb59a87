import { Alert, Button, Skeleton, TextInput } from '@mantine/core'
import { IconPlus } from '@tabler/icons-react'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { call } from '../../api/client.ts'
import type { Answer } from '../../api/operations.ts'
import { useMay } from '../../app/signed-in.ts'
import { ProblemAlert } from '../../parts/failure.tsx'
import { useForm } from '../../parts/form.ts'
import { FormDialog } from '../../parts/form-dialog.tsx'
import { formatDate } from '../../parts/format.ts'
import type { Column } from '../../parts/item-table.tsx'
import { ListPage } from '../../parts/list-page.tsx'
import { State } from '../../parts/names.tsx'
import { texts } from '../../texts/index.ts'
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
  const { configured } = status.data
  return (
    <>
      <ListPage
        title={texts.keys.title}
        actions={
          configured && (
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
          )
        }
        head={failure || <Status status={status.data} />}
        queryKey={['kms-keys']}
        load={async ({ cursor, signal }) =>
          configured ? call('listKmsKeys', { query: { cursor }, signal }) : { items: [] }
        }
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
  if (!status.configured) return <Alert color="gray">{texts.keys.notConfigured}</Alert>
  return <Alert color="teal">{texts.keys.works(status.backend, status.formerKeys)}</Alert>
}

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
