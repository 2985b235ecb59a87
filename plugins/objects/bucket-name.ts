/** Source: AWS "General purpose bucket naming rules". */
import { invalidBucketName } from './errors.ts'

const shape = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const address = /^\d{1,3}(\.\d{1,3}){3}$/
/** Paths under `/svc/` on this port are the server's own: objects of a bucket with this name could not be reached. */
const reservedNames = ['svc']
const reservedPrefixes = ['xn--', 'sthree-', 'amzn-s3-demo-']
const reservedSuffixes = ['-s3alias', '--ol-s3', '.mrap', '--x-s3', '--table-s3']

/** Throws InvalidBucketName when no new bucket may have this name. */
export function requireNewBucketName(name: string): void {
  const isValid =
    shape.test(name) &&
    !name.includes('..') &&
    !name.includes('.-') &&
    !name.includes('-.') &&
    !address.test(name) &&
    !reservedNames.includes(name) &&
    !reservedPrefixes.some(prefix => name.startsWith(prefix)) &&
    !reservedSuffixes.some(suffix => name.endsWith(suffix))
  if (!isValid) throw invalidBucketName(name)
}
