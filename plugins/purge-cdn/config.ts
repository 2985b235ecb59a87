import { type Static, Type } from 'typebox'

function urlProblem(text: string): string | undefined {
  if (!URL.canParse(text)) return 'must be a URL'
  const { protocol, search, hash, username, password } = new URL(text)
  const isPlain = search === '' && hash === '' && username === '' && password === '' && !text.endsWith('/')
  return isPlain && (protocol === 'https:' || protocol === 'http:')
    ? undefined
    : 'must be a URL without query, user and slash at its end'
}

const apiUrl = (name: string, url: string) =>
  Type.String({
    default: url,
    description: `Where the API of ${name} is. Only tests have it elsewhere: tokens are sent there.`,
    check: urlProblem,
  })

export const PurgeCdnConfig = Type.Object({
  cdn1Url: apiUrl('Cloudflare', 'https://api.cloudflare.com'),
  cdn2Url: apiUrl('Fastly', 'https://api.fastly.com'),
  cdn4Url: apiUrl('Bunny', 'https://api.bunny.net'),
  cdn5Url: apiUrl('CloudFront', 'https://cloudfront.amazonaws.com'),
})

export type PurgeCdnConfig = Static<typeof PurgeCdnConfig>
