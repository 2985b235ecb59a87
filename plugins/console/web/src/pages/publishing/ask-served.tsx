/** Asks about what the server refuses unless it is forced: domains would be without a certificate, or an order has failed just now. */
import { Stack, Text } from '@mantine/core'
import { Problem } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'

interface Words extends Omit<AskedFirst, 'text'> {
  /** Beside what the server says. */
  readonly hint?: string
}

export function useAskServed() {
  const { ask, question } = useAskFirst()
  /** Resolves with `declined` where somebody has thought better of it. */
  async function change<T>(
    { hint, ...words }: Words,
    send: (query: { force?: boolean }) => Promise<T>,
    isAsked: (refusal: Problem) => boolean | Promise<boolean> = ({ code }) => code === 'certificate_served',
  ): Promise<T | 'declined'> {
    try {
      return await send({})
    } catch (error) {
      if (!(error instanceof Problem && (await isAsked(error)))) throw error
      const text = (
        <Stack gap="xs">
          <Text size="sm">{error.message}</Text>
          {hint !== undefined && <Text size="sm">{hint}</Text>}
        </Stack>
      )
      const isWanted = await ask({ ...words, text })
      return isWanted ? send({ force: true }) : 'declined'
    }
  }
  return { change, question }
}
