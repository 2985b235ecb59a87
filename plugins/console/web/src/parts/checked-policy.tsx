/** A policy as JSON with what the server says of it, each finding at its line. */
import type { CompletionResult } from '@codemirror/autocomplete'
import { Stack, Text } from '@mantine/core'
import { useDebouncedValue } from '@mantine/hooks'
import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { call } from '../api/client.ts'
import { texts } from '../texts/index.ts'
import { Findings } from './findings.tsx'
import { type Finding, JsonEditor } from './json-editor.tsx'
import { completePolicy } from './policy-completion.ts'

export interface CheckedPolicyProps {
  readonly text: string
  readonly onChange: (text: string) => void
  /** Set for a bucket's own policy: its resources must be in the bucket. */
  readonly bucket?: string
  readonly isReadOnly?: boolean
  /** What to do with an example that nobody has changed yet; what is to be replaced in it is no error. */
  readonly example?: string
}

export function CheckedPolicy({ text, onChange, bucket, isReadOnly = false, example }: CheckedPolicyProps) {
  const findings = useFindings(example === undefined ? text : undefined, bucket)
  const complete = useCompletion(bucket)
  return (
    <Stack gap="xs">
      {example !== undefined && (
        <Text size="sm" c="dimmed">
          {example}
        </Text>
      )}
      <JsonEditor
        label={example === undefined || bucket === undefined ? texts.policies.document : texts.policies.exampleLabel}
        value={text}
        onChange={onChange}
        findings={findings}
        isReadOnly={isReadOnly}
        complete={complete}
      />
      <Findings findings={findings} />
    </Stack>
  )
}

const bucketsOffered = 200

function useCompletion(bucket: string | undefined): (text: string, at: number) => CompletionResult | null {
  const actions = useQuery({
    queryKey: ['policy-actions'],
    queryFn: async ({ signal }) => (await call('listPolicyActions', { signal })).items,
    staleTime: Number.POSITIVE_INFINITY,
  })
  const buckets = useQuery({
    queryKey: ['names', 'buckets'],
    queryFn: async ({ signal }) =>
      (await call('listBuckets', { query: { limit: bucketsOffered }, signal })).items.map(({ name }) => name),
    enabled: bucket === undefined,
  })
  const known = {
    actions: actions.data ?? [],
    buckets: bucket === undefined ? (buckets.data ?? []) : [bucket],
    hasPrincipal: bucket !== undefined,
  }
  return (text, at) => completePolicy(text, at, known)
}

/** None of what is not to be checked. */
function useFindings(text: string | undefined, bucket: string | undefined): readonly Finding[] {
  const [checked] = useDebouncedValue(text, 400)
  const { data } = useQuery({
    queryKey: ['policy-check', checked, bucket],
    queryFn: ({ signal }) =>
      call('validatePolicy', { body: { document: checked ?? '', ...(bucket !== undefined && { bucket }) }, signal }),
    enabled: checked !== undefined,
    retry: false,
  })
  return useMemo(
    () => [
      ...(data?.errors ?? []).map(finding => ({ ...finding, isError: true })),
      ...(data?.warnings ?? []).map(finding => ({ ...finding, isError: false })),
    ],
    [data],
  )
}
