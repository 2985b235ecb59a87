/** Thrown if an object is replaced while it is read. This is no fault of the server: the caller can look up the new object. */
export class ReplacedObject extends Error {
  constructor() {
    super('The object was replaced while it was read.')
    this.name = 'ReplacedObject'
  }
}
