/** Where the secrets of a webhook go, and which change sends them elsewhere. */
import t from 'tap'
import { looseSecret, movedField } from '../secret-destinations.ts'

const kind = { destinations: ['url'] }
const webhook = (url: string, domains: readonly string[] = [], secrets: Record<string, string> = { token: 'x' }) =>
  ({ domains: [...domains], settings: { url }, secrets }) as Parameters<typeof looseSecret>[1]

t.test('a secret needs domains where the host of the URL is open', t => {
  const open = [
    'https://{host}{path}',
    '{url}',
    '{scheme}://{host}:8443/purge',
    'https:{host}/',
    'https:///{host}/',
    'https:\\\\{host}\\',
    'https://{tag}.example.test/',
    'http://192.0.2.1{pattern}',
    'https://user@{host}/',
  ]
  for (const url of open) {
    t.equal(looseSecret(kind, webhook(url)), 'token', url)
    t.equal(looseSecret(kind, webhook(url, ['www.example.test'])), undefined, url)
    t.equal(looseSecret(kind, webhook(url, [], {})), undefined, url)
  }
  const fixed = ['https://cdn.test/{host}{path}', 'http://192.0.2.1{path}', '{scheme}://cdn.test/?u={url}']
  for (const url of fixed) t.equal(looseSecret(kind, webhook(url)), undefined, url)
  t.end()
})

t.test('another URL, or one more domain of an open host, moves the destination', t => {
  const before = webhook('https://{host}/', ['a.test', 'b.test'])
  t.equal(movedField(kind, webhook('https://{host}/', ['a.test']), before), undefined)
  t.equal(movedField(kind, webhook('https://{host}/', ['a.test', 'c.test']), before), 'domains')
  t.equal(movedField(kind, webhook('https://{host}/x', ['a.test']), before), 'url')
  t.equal(
    movedField(kind, webhook('https://cdn.test/', ['c.test']), webhook('https://cdn.test/', ['a.test'])),
    undefined,
  )
  t.end()
})
