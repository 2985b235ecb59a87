import { exchange, newKey, urlOf } from '../../api/client.ts'
import { Problem, wordsOf } from '../../api/problem.ts'
import { notifyFailure } from '../../parts/failure.tsx'
import { texts } from '../../texts/index.ts'

/** Milliseconds after which the archive has begun to arrive, or never will. */
const beginsWithinMs = 3_600_000

/**
 * Submits a form, so that the browser writes the archive to a file while it arrives, however large it is; in a frame that nobody sees, so that
 * the console is never left. What the server refuses is asked before, to be told in its words. The archive is named after the folder that was
 * chosen or is open.
 */
export async function downloadZip(
  bucket: string,
  folder: string,
  objects: readonly string[],
  prefixes: readonly string[],
): Promise<void> {
  const name = nameOf(objects.length === 0 && prefixes.length === 1 ? prefixes[0]! : folder)
  const request = { objects: objects.map(key => ({ key })), prefixes: [...prefixes], ...(name !== '' && { name }) }
  const params = { bucket }
  try {
    await exchange('downloadZip', { params, body: { ...request, check: true } })
  } catch (error) {
    throw naming(error, objects)
  }
  const form = document.createElement('form')
  form.method = 'post'
  form.action = urlOf('downloadZip', params)
  const field = document.createElement('input')
  field.type = 'hidden'
  field.name = 'request'
  field.value = JSON.stringify(request)
  form.append(field)
  const frame = document.createElement('iframe')
  frame.name = `archive-${newKey()}`
  frame.hidden = true
  form.target = frame.name
  document.body.append(frame, form)
  // An archive is no page: what the frame shows is a refusal, or that there was no answer.
  frame.addEventListener('load', () => {
    if (!isBlank(frame)) notifyFailure(new Error(texts.objects.zipNotBegun))
  })
  form.submit()
  form.remove()
  setTimeout(() => frame.remove(), beginsWithinMs)
}

function isBlank({ contentDocument }: HTMLIFrameElement): boolean {
  return contentDocument?.URL === 'about:blank'
}

/** The last part of a folder, as far as the name of an archive may be long. */
const nameOf = (folder: string): string => folder.split('/').at(-2)?.slice(0, 200) ?? ''

/** The error with the key of the object that the server has named by its number. */
function naming(error: unknown, objects: readonly string[]): unknown {
  if (!(error instanceof Problem)) return error
  const [, index] = /^\/objects\/(\d+)/.exec(error.fields[0]?.field ?? '') ?? []
  const key = index === undefined ? undefined : objects[Number(index)]
  return key === undefined ? error : new Error(texts.objects.zipRefused(key, wordsOf(error)))
}
