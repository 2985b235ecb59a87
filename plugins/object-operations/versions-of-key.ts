import type { ObjectsService, VersionSummary } from 'svc/plugins/objects/api'

/** Versions and delete markers of exactly this key, newest first. `after`: only versions older than this one. */
export async function versionsOfKey(
  objects: ObjectsService,
  { bucket, key, after = '', limit }: { bucket: string; key: string; after?: string; limit: number },
): Promise<{ readonly versions: readonly VersionSummary[]; readonly isTruncated: boolean }> {
  // One more version than requested tells whether there are more. Longer keys come after all versions of this key.
  const page = await objects.listVersions({
    bucket,
    prefix: key,
    delimiter: '',
    keyMarker: after === '' ? '' : key,
    versionIdMarker: after,
    maxKeys: limit + 1,
    withDetails: true,
  })
  const versions = page.versions.filter(version => version.key === key)
  return { versions: versions.slice(0, limit), isTruncated: versions.length > limit }
}
