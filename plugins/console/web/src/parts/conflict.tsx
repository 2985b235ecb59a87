/** A change that failed; where somebody else has been quicker, with the way to what is stored now. */
import { Alert, Button, Stack, Text } from '@mantine/core'
import { useMutation } from '@tanstack/react-query'
import { Problem } from '../api/problem.ts'
import { texts } from '../texts/index.ts'
import { ProblemAlert, useSeen } from './failure.tsx'

/** Then what the form began with is not what is stored any more: to discard what was typed is to read it again. */
export const isConflict = (error: unknown): boolean => error instanceof Problem && error.status === 412

export function Conflict({ error, onLoad }: { error: unknown; onLoad: () => unknown }) {
  if (error === null || error === undefined) return null
  if (!isConflict(error)) return <ProblemAlert error={error} />
  return <Changed error={error} onLoad={onLoad} />
}

function Changed({ error, onLoad }: { error: unknown; onLoad: () => unknown }) {
  const alert = useSeen(error)
  const loading = useMutation({ mutationFn: async () => void (await onLoad()) })
  if (loading.error !== null) return <ProblemAlert error={loading.error} />
  return (
    <Alert ref={alert} tabIndex={-1} color="orange" role="alert" title={texts.common.changedMeanwhile}>
      <Stack gap="xs" align="flex-start">
        <Text size="sm">{texts.common.dropped}</Text>
        <Button size="compact-sm" variant="default" loading={loading.isPending} onClick={() => loading.mutate()}>
          {texts.common.loadStored}
        </Button>
      </Stack>
    </Alert>
  )
}
