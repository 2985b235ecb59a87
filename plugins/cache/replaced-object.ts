/** A write was faster than the reader of an object. No fault of the server: what the object is now can be looked up. */
export class ReplacedObject extends Error {
  constructor() {
    super('The object was replaced while it was read.')
    this.name = 'ReplacedObject'
  }
}
