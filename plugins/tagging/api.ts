/** Tagging: what other operations need to read and check sets of tags. Tags themselves are attributes of `objects`. */
export { readTags } from './admin-tags.ts'
export { taggingErrors } from './errors.ts'
export { collectTags, readTagSet, type TagOwner, tagSetElements } from './tag-set.ts'
export { etagOfTags } from './tags-etag.ts'
