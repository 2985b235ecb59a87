/** Tagging: what other operations need to read sets of tags. Tags themselves are attributes of `objects`. */
export { taggingErrors } from './errors.ts'
export { readTagSet, type TagOwner, tagSetElements } from './tag-set.ts'
export { etagOfTags } from './tags-etag.ts'
