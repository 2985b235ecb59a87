import { urlOf } from '../../api/client.ts'

/** Submits a form, so that the browser writes the archive to a file while it arrives, however large it is. */
export function downloadZip(bucket: string, objects: readonly string[], prefixes: readonly string[]): void {
  const form = document.createElement('form')
  form.method = 'post'
  form.action = urlOf('downloadZip', { bucket })
  const field = document.createElement('input')
  field.type = 'hidden'
  field.name = 'request'
  field.value = JSON.stringify({ objects: objects.map(key => ({ key })), prefixes })
  form.append(field)
  document.body.append(form)
  form.submit()
  form.remove()
}
