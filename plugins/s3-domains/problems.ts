/** A distribution of the mode `s3` has domains, restrictions and a default access; settings of websites are refused. */
import type { Distribution, DistributionProblem } from 'svc/plugins/distributions/api'

export function s3DomainProblems({
  origin,
  defaultBehavior,
  behaviors,
  errorPages,
  redirects,
  headers,
}: Distribution): readonly DistributionProblem[] {
  const { access, ...websiteFields } = defaultBehavior
  const used: [element: string, isUsed: boolean][] = [
    ['/origin/pathPrefix', origin.pathPrefix !== ''],
    ['/origin/versionPinning', origin.versionPinning],
    ['/defaultBehavior/access', access === 'signed'],
    ...Object.keys(websiteFields).map(name => [`/defaultBehavior/${name}`, true] as [string, boolean]),
    ['/behaviors', behaviors.length > 0],
    ['/errorPages', errorPages.length > 0],
    ['/redirects', redirects.length > 0],
    ['/headers', Object.keys(headers).length > 0],
  ]
  return used
    .filter(([, isUsed]) => isUsed)
    .map(([element]) => ({
      element,
      message: 'is for the mode website alone; in the mode s3 the whole path is the key',
    }))
}
