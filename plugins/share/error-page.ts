/** What the browser of somebody shows who opens a share link that does not work: words instead of an XML document. */
import type { FailedRequest } from 'svc/plugins/s3/api'
import { sharePrefix } from 'svc/plugins/users/api'

const ofShare = new RegExp(`[?&]X-Amz-Credential=${sharePrefix}`)

const ended = {
  title: 'This link does not work any more',
  text: 'It has expired, it was revoked, or the file is no longer there. Ask whoever sent it to you for a new one.',
}

const pages: Readonly<Record<string, typeof ended>> = {
  NoSuchKey: { title: 'The file is gone', text: 'It was deleted after it was shared. Ask whoever sent you the link.' },
  SignatureDoesNotMatch: {
    title: 'This link is not complete',
    text: 'A part of it is missing or was changed. Copy the whole link from the message that you got, and open it again.',
  },
}

const later = { title: 'The file cannot be shown now', text: 'The server has a problem. Try again in a minute.' }

/** For GET alone, and for browsers: programs name XHTML nowhere in what they accept. */
export function errorPage({ method, url, headers, status, code, requestId }: FailedRequest): string | undefined {
  if (method !== 'GET' || !ofShare.test(url) || !headers.accept?.includes('application/xhtml+xml')) return undefined
  const { title, text } = status === 429 || status >= 500 ? later : (pages[code] ?? pageOf(status, code))
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${title}</title>
<style>
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
body { max-width: 34rem; margin: 15vh auto 0; padding: 0 1rem }
h1 { font-size: 1.5rem }
small { opacity: .75 }
</style>
</head>
<body>
<h1>${title}</h1>
<p>${text}</p>
<p><small>${status} ${code}, request ${requestId}</small></p>
</body>
</html>
`
}

/** Deleted versions and buckets are gone as keys are; what is malformed was cut off. */
function pageOf(status: number, code: string): typeof ended {
  if (status === 404 || code === 'MethodNotAllowed') return pages.NoSuchKey!
  return status === 400 ? pages.SignatureDoesNotMatch! : ended
}
