/** Tags of an object or a bucket, in the order in which they came: a plain object would put keys that are whole numbers first. */
export type Tags = ReadonlyMap<string, string>

export const noTags: Tags = new Map()
