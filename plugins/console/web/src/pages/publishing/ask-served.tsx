/** Asks about a change with which domains would be without a certificate, and makes it all the same. */
import { Text } from '@mantine/core'
import { Problem } from '../../api/problem.ts'
import { type AskedFirst, useAskFirst } from '../../parts/ask-first.tsx'

export function useAskServed() {
  const { ask, question } = useAskFirst()
  /** Resolves with `declined` where somebody has thought better of it. */
  async function change<T>(
    words: Omit<AskedFirst, 'text'>,
    send: (query: { force?: boolean }) => Promise<T>,
  ): Promise<T | 'declined'> {
    try {
      return await send({})
    } catch (error) {
      if (!(error instanceof Problem && error.code === 'certificate_served')) throw error
      const isWanted = await ask({ ...words, text: <Text size="sm">{error.message}</Text> })
      return isWanted ? send({ force: true }) : 'declined'
    }
  }
  return { change, question }
}
