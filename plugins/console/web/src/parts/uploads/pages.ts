/** The pages of this console that are open now in other tabs: what they upload is not interrupted. */

export const ownPage: string = Array.from(crypto.getRandomValues(new Uint32Array(2)), part => part.toString(36)).join(
  '',
)

const channel = new BroadcastChannel('svc-console-pages')
const answerMs = 250

channel.addEventListener('message', ({ data }: MessageEvent<{ readonly question?: true }>) => {
  if (data.question === true) channel.postMessage({ page: ownPage })
})

/** Whoever does not answer at once is gone. */
export async function otherPages(): Promise<ReadonlySet<string>> {
  const found = new Set<string>()
  const note = ({ data }: MessageEvent<{ readonly page?: string }>) => {
    if (data.page !== undefined) found.add(data.page)
  }
  channel.addEventListener('message', note)
  channel.postMessage({ question: true })
  await new Promise(done => setTimeout(done, answerMs))
  channel.removeEventListener('message', note)
  return found
}
